"""What to do when something is refused of a machine: that depends on what the machine is up to."""

from typing import TYPE_CHECKING

import click

from ingot.api.kubevirt import phase
from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.cli.vm.found import Found, find
from ingot.control.strategy import ALWAYS, HALTED, ONCE, RERUN, strategy_of
from ingot.kube.objects import is_deleting

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# What to do when the server says one of these.
_CURES = (
    ("VM is already running", "See it with `ingot vm ls`, or talk to it with `ingot vm console {name}`."),
    ("already underway", "Wait until that is done: `ingot vm ls` shows it."),
    ("shorter graceperiod", "It is being stopped already; end it at once with `ingot vm stop {name} --force`."),
    ("is already paused", "Let it go on with `ingot vm unpause {name}`."),
    ("is paused", "Let it go on first with `ingot vm unpause {name}`."),
    ("is not paused", "It runs; there is nothing to do."),
)
# Words of refusals that come from the machine's state, or from its runStrategy in that state.
_BY_STATE = ("not running", "failed status", "does not support")


async def refusal(session: "Session", name: str, word: str, error: ApiError) -> click.ClickException:
    """What the server said about a machine, and the cure where one is known."""
    why = error.message.removeprefix("Operation cannot be fulfilled on ").partition('": ')[2] or error.message
    head = f"{name} in namespace {session.namespace}: cannot {word}: {why}"
    for said, cure in _CURES:
        if said in error.message:
            return click.ClickException(f"{head}\n{cure.format(name=name)}")
    if error.code == 404 or any(said in error.message for said in _BY_STATE):
        return click.ClickException(standing(await find(session, name), word))
    if (error.code >= 500 and error.reason != "ServiceUnavailable") or error.reason == "Forbidden":
        from ingot.cli.failure import cure as general

        return click.ClickException("\n".join(filter(None, (head, general(error)))))
    return click.ClickException(head)


def standing(found: Found, word: str) -> str:
    """What state of a machine forbids an act of it, and the way out, which is none that was just refused."""
    name, strategy = found.name, strategy_of(found.machine) if found.machine else ""
    if found.instance and not phase.is_final(found.instance):
        return _alive(found, found.instance, strategy)
    if word == "stop":
        return f"{name} is stopped already: there is nothing to do"
    if found.machine is None:
        return f"{name} has ended, and is not started again; remove it with `ingot vm rm {name}`, and make it anew"
    if strategy == ONCE:
        return f"{name} has ended. {_again(name)}"
    failed = found.instance is not None and phase.phase_of(found.instance) == phase.FAILED
    if strategy == ALWAYS or (strategy == RERUN and failed):
        return f"{name} is about to start by itself; `ingot vm describe {name}` says what it waits for"
    return f"{name} is stopped; start it with `ingot vm start {name}`"


def _alive(found: Found, instance: Object, strategy: str) -> str:
    name = found.name
    if is_deleting(instance) or strategy == HALTED:
        return f"{name} is being stopped; `ingot vm ls` shows when that is done"
    if phase.phase_of(instance) == phase.RUNNING and strategy == ONCE:
        return f"{name} runs. {_again(name)}"
    if phase.phase_of(instance) == phase.RUNNING:
        return f"{name} runs by now; try again"
    return f"{name} has not started yet; `ingot vm describe {name}` says what it waits for"


def _again(name: str) -> str:
    return (
        "Its runStrategy is Once: to run it again, remove it with "
        f"`ingot vm rm {name}` and make it anew, or set its runStrategy to Always"
    )
