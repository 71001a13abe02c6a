"""What is asked of machines through subresources.kubevirt.io, and the answer for a person."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from ingot.api.kubevirt.subresources import GROUP, VERSIONS
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.cli.output import show

if TYPE_CHECKING:
    from ingot.cli.connection import Session

MACHINES = Resource(GROUP, VERSIONS[0], "virtualmachines", "VirtualMachine")
INSTANCES = Resource(GROUP, VERSIONS[0], "virtualmachineinstances", "VirtualMachineInstance")

# What to do when the server says one of these.
_CURES = (
    ("VM is already running", "See it with `ingot vm ls`, or talk to it with `ingot vm console {name}`."),
    (
        "does not support manual start",
        "Its runStrategy starts it by itself; `ingot vm describe {name}` says what is amiss.",
    ),
    ("does not support manual restart", "Start it with `ingot vm start {name}`."),
    ("already underway", "Wait until that is done: `ingot vm ls` shows it."),
    ("shorter graceperiod", "It is being stopped already; end it at once with `ingot vm stop {name} --force`."),
    ("is already paused", "Let it go on with `ingot vm unpause {name}`."),
    ("is paused", "Let it go on first with `ingot vm unpause {name}`."),
    ("is not paused", "It runs; there is nothing to do."),
    (
        "not running",
        "`ingot vm describe {name}` says why; `ingot vm start {name}` starts a stopped one.",
    ),
    ("not found", "`ingot vm ls` shows those that are there; another namespace is chosen with --namespace."),
)


async def act(session: "Session", resource: Resource, name: str, word: str, body: Object) -> None:
    """Asks for one act. Raises ClickException with what is wrong and what to do."""
    path = resource.path(session.namespace, name, word)
    try:
        await session.client.transport.request("PUT", path, body=msgspec.json.encode(body))
    except ApiError as error:
        raise refusal(name, session.namespace, word, error) from error


async def act_on_all(
    session: "Session", resource: Resource, names: Sequence[str], word: str, body: Object, told: str, output: str
) -> int:
    """Asks for an act of each machine and tells what came of it; returns the exit code."""
    results: list[Object] = []
    for name in names:
        result: Object = {"name": name, "namespace": session.namespace, "result": told}
        try:
            await act(session, resource, name, word, body)
        except click.ClickException as error:
            result |= {"result": "failed", "problem": error.message}
            click.echo(f"Error: {error.message}", err=True)
        else:
            if output == "text":
                click.echo(f"{name} {told}")
        results.append(result)
    if output != "text":
        show(results, output)
    return 1 if any("problem" in result for result in results) else 0


def refusal(name: str, namespace: str, word: str, error: ApiError) -> click.ClickException:
    """What the server said about a machine, and the cure where one is known."""
    why = error.message.removeprefix("Operation cannot be fulfilled on ").partition('": ')[2] or error.message
    head = f"{name} in namespace {namespace}: cannot {word}: {why}"
    for said, cure in _CURES:
        if said in error.message:
            return click.ClickException(f"{head}\n{cure.format(name=name)}")
    if (error.code >= 500 and error.reason != "ServiceUnavailable") or error.reason == "Forbidden":
        from ingot.cli.failure import cure as general

        return click.ClickException("\n".join(filter(None, (head, general(error)))))
    return click.ClickException(head)
