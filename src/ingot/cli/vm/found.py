"""Machines as people think of them: a VirtualMachine, its instance, or an instance that nobody owns."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import INSTANCES, MACHINES
from ingot.api.status import ApiError

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@dataclass(frozen=True, slots=True)
class Found:
    """At least one of both is there."""

    machine: Object | None
    instance: Object | None

    @property
    def any(self) -> Object:
        found = self.machine or self.instance
        assert found
        return found

    @property
    def name(self) -> str:
        return name_of(self.any)

    @property
    def namespace(self) -> str:
        return namespace_of(self.any)

    @property
    def spec(self) -> Object:
        """The spec of the guest: the running one, or that of the next."""
        spec: Object = self.instance["spec"] if self.instance else self.any["spec"]["template"]["spec"]
        return spec

    @property
    def status(self) -> Object:
        """The instance's status; empty without one."""
        status: Object = (self.instance or {}).get("status") or {}
        return status

    @property
    def disks(self) -> list[Object]:
        return list(self.spec["domain"].get("devices", {}).get("disks") or [])


async def find(session: "Session", name: str) -> Found:
    """The machine of that name. Raises ClickException when there is none."""
    machine = await _get(session, name, MACHINES)
    instance = await _get(session, name, INSTANCES)
    if machine is None and instance is None:
        raise click.ClickException(
            f"there is no machine {name} in namespace {session.namespace}\n"
            "`ingot vm ls -A` shows those of all namespaces; `ingot vm run` makes one."
        )
    return Found(machine, instance)


async def find_all(session: "Session") -> list[Found]:
    """All machines of the session's namespaces, by namespace and name."""
    machines = {_key(obj): obj async for obj in _all(session, MACHINES)}
    instances = {_key(obj): obj async for obj in _all(session, INSTANCES)}
    return [Found(machines.get(key), instances.get(key)) for key in sorted(machines.keys() | instances.keys())]


async def _get(session: "Session", name: str, resource: Resource) -> Object | None:
    try:
        return await session.client.get(resource, name, session.namespace)
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        return None


async def _all(session: "Session", resource: Resource) -> AsyncIterator[Object]:
    async for page in session.client.pages(resource, session.scope):
        for item in page["items"]:
            yield item


def _key(obj: Object) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)
