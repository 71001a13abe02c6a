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
from ingot.cli.vm.advice import refusal

if TYPE_CHECKING:
    from ingot.cli.connection import Session

MACHINES = Resource(GROUP, VERSIONS[0], "virtualmachines", "VirtualMachine")
INSTANCES = Resource(GROUP, VERSIONS[0], "virtualmachineinstances", "VirtualMachineInstance")


async def act(session: "Session", resource: Resource, name: str, word: str, body: Object) -> None:
    """Asks for one act. Raises ClickException with what is wrong and what to do."""
    path = resource.path(session.namespace, name, word)
    try:
        await session.client.transport.request("PUT", path, body=msgspec.json.encode(body))
    except ApiError as error:
        raise await refusal(session, name, word, error) from error


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
