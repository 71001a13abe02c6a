"""The guests that run on this node, for those who ask by the names of their instances."""

import socket

from ingot.api.object import Object, uid_of
from ingot.api.resources import INSTANCES
from ingot.api.status import ApiError, conflict, not_found
from ingot.kube.cache import Key
from ingot.kube.informer import Informer
from ingot.node.consoles import Consoles
from ingot.node.events import DomainState, Phase
from ingot.node.hypervisor import Hypervisor
from ingot.node.link import HypervisorError
from ingot.node.record import Record, Records


class Residents:
    """The node's side of `Guests`."""

    def __init__(self, instances: Informer, records: Records, hypervisor: Hypervisor, consoles: Consoles) -> None:
        self._instances = instances
        self._records = records
        self._hypervisor = hypervisor
        self._consoles = consoles

    async def pause(self, namespace: str, name: str) -> None:
        record, state = await self._running(namespace, name)
        if state.phase is not Phase.PAUSED:
            await self._hypervisor.suspend(record.domain)

    async def unpause(self, namespace: str, name: str) -> None:
        record, state = await self._running(namespace, name)
        if state.phase is Phase.PAUSED:
            await self._hypervisor.resume(record.domain)

    async def reset(self, namespace: str, name: str) -> None:
        record, _ = await self._running(namespace, name)
        await self._hypervisor.reset(record.domain)

    async def soft_reboot(self, namespace: str, name: str) -> None:
        record, _ = await self._running(namespace, name)
        await self._hypervisor.reboot(record.domain)

    async def console(self, namespace: str, name: str) -> socket.socket:
        record, _ = await self._running(namespace, name)
        line = self._consoles.connect(record.uid)
        if line is None:
            raise _refusal(name, "it has no serial console (autoattachSerialConsole is false)")
        return line

    async def screen(self, namespace: str, name: str) -> socket.socket:
        record, _ = await self._running(namespace, name)
        try:
            return await self._hypervisor.open_screen(record.domain)
        except HypervisorError as error:
            raise _refusal(name, f"its screen cannot be opened: {error.message}") from error

    async def _running(self, namespace: str, name: str) -> tuple[Record, DomainState]:
        instance = self._instances.cache.get(Key(namespace, name))
        record = self._records.get(uid_of(instance)) if instance else None
        if instance is None or record is None:
            raise not_found(INSTANCES.group, INSTANCES.plural, name)
        state = await self._hypervisor.state(record.domain)
        if state is None:
            raise _refusal(name, f"VMI is not running (phase {_phase(instance)})")
        return record, state


def _phase(instance: Object) -> str:
    return str((instance.get("status") or {}).get("phase") or "unknown")


def _refusal(name: str, why: str) -> ApiError:
    return conflict(INSTANCES.group, INSTANCES.plural, name, why)
