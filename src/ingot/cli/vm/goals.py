"""What is waited for of machines: that they run, and that nothing of them is left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from ingot.api.kubevirt import names as kubevirt
from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import INSTANCES, PODS
from ingot.cli.goal import Deleted, Goal
from ingot.cli.vm.state import instance_state
from ingot.cli.waiting import Deadline, NotMetError, Progress, wait_for
from ingot.kube.objects import is_deleting, is_true

if TYPE_CHECKING:
    from ingot.api.resource import Resource
    from ingot.cli.connection import Session

# A node tells at once what it has done.
SAID_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Runs:
    """An instance runs, or has ended: more will not come of it. `former` is the uid of one that does not count."""

    former: str = ""
    needs_object: bool = False

    def met(self, obj: Object | None) -> bool:
        if obj is None or uid_of(obj) == self.former:
            return False
        return phase.phase_of(obj) == phase.RUNNING or phase.is_final(obj)

    def seen(self, obj: Object | None) -> str:
        if obj and uid_of(obj) == self.former:
            return Gone().seen(obj)
        return instance_state(obj) if obj else "no instance has been made of it yet"

    def __str__(self) -> str:
        return "start"


@dataclass(frozen=True, slots=True)
class Gone(Deleted):
    """The instance, launcher or machine with this uid is gone."""

    def seen(self, obj: Object | None) -> str:
        if obj is None:
            return "it is gone"
        if not is_deleting(obj):
            return "it has yet to be told"
        if "domain" not in obj["spec"]:
            return "its pod ends" if "containers" in obj["spec"] else "what is left of it goes"
        return "its disks are released" if phase.is_final(obj) else "the guest is shutting down"

    def __str__(self) -> str:
        return "end"


@dataclass(frozen=True, slots=True)
class Stands:
    """An instance says that its CPUs stand still, or that they do not."""

    still: bool
    needs_object: bool = True

    def met(self, obj: Object | None) -> bool:
        return obj is not None and is_true(obj, "Paused") is self.still

    def seen(self, obj: Object | None) -> str:
        return instance_state(obj) if obj else "it is gone"

    def __str__(self) -> str:
        return "pause" if self.still else "end of the pause"


async def until_paused(session: "Session", names: Sequence[str], *, paused: bool) -> int:
    """Waits until each instance says so itself, which it does in a moment: what follows can rely on it."""
    deadline, code = Deadline(SAID_SECONDS), 0
    async with Progress(deadline) as progress:
        for name in names:
            if await _met(session, INSTANCES, name, Stands(paused), deadline, progress) is None:
                code = _advise(name)
    return code


async def until_running(
    session: "Session", names: Sequence[str], seconds: float, former: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Waits until each machine runs. The exit code: 1 when one does not in time, or has ended at once.

    `former` has the uids of instances that are on their way out, by the names of their machines.
    """
    deadline, code = Deadline(seconds), 0
    async with Progress(deadline) as progress:
        for name in names:
            found = await _met(session, INSTANCES, name, Runs(former.get(name, "")), deadline, progress)
            if found is None:
                code = _advise(name)
            elif phase.phase_of(found) == phase.RUNNING:
                click.echo(f"{name} runs on node {found['status'].get('nodeName', '?')}", err=True)
            else:
                click.echo(f"Error: {name} has ended: {instance_state(found)}", err=True)
                code = _advise(name)
    return code


async def present(session: "Session", names: Sequence[str]) -> dict[str, str]:
    """The uids of the instances that there are now, by the names of their machines."""
    return {name: uid_of(each) for name in names for each in await _instances(session, name)}


async def until_gone(session: "Session", names: Sequence[str], seconds: float) -> int:
    """Waits until no instance of the machines is left, nor a launcher of it."""
    deadline, code = Deadline(seconds), 0
    async with Progress(deadline) as progress:
        for name in names:
            for instance in await _instances(session, name):
                if not await gone(session, instance, deadline, progress):
                    code = _advise(name)
    return code


async def gone(session: "Session", instance: Object, deadline: Deadline, progress: Progress) -> bool:
    """Waits until this very instance and its launcher are gone; whether they are."""
    launcher = kubevirt.launcher_name(instance)
    pods = await session.client.list(PODS, session.namespace, field_selector=f"metadata.name={launcher}")
    for resource, name, uid in (
        (INSTANCES, name_of(instance), uid_of(instance)),
        *((PODS, launcher, uid_of(pod)) for pod in pods["items"]),
    ):
        try:
            who = name_of(instance)
            await wait_for(session, resource, name, session.namespace, Gone(uid), deadline, progress, who)
        except NotMetError as error:
            progress.clear()
            click.echo(f"Error: {error}", err=True)
            return False
    return True


async def _instances(session: "Session", name: str) -> list[Object]:
    page = await session.client.list(INSTANCES, session.namespace, field_selector=f"metadata.name={name}")
    return list(page["items"])


async def _met(
    session: "Session", resource: "Resource", name: str, goal: Goal, deadline: Deadline, progress: Progress
) -> Object | None:
    """The object that meets the goal, or None when time is up, which is told."""
    try:
        found = await wait_for(session, resource, name, session.namespace, goal, deadline, progress, name)
    except NotMetError as error:
        progress.clear()
        click.echo(f"Error: {error}", err=True)
        return None
    progress.clear()
    return found


def _advise(name: str) -> int:
    click.echo(f"`ingot vm describe {name}` says more.", err=True)
    return 1
