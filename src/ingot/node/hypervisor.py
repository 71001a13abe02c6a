"""Domains: start them, look at them, act on them, hear of them. The asyncio face of libvirt."""

import asyncio
import socket
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Self, TypeVar
from xml.etree import ElementTree

from ingot.host.descriptor import Descriptor
from ingot.node import domains, events
from ingot.node.binding import Connection, Domain, constant
from ingot.node.domain.document import instance_uid
from ingot.node.events import DomainState, Kind, Told
from ingot.node.link import HypervisorError, Link, Source, absent

T = TypeVar("T")

# What is read of the end of a domain's log: QEMU's command line and what it said since it was started.
LOG_TAIL = 256 << 10


class Hypervisor:
    """The domains of one libvirt. Use as `async with Hypervisor(Libvirtd(…)) as hypervisor`.

    Domains are transient: one that has ended is gone from libvirt, and `last_reason` tells why. What is left of one
    whose start was killed goes when it is looked at, or destroyed. When libvirtd dies it is started again and
    connected to, and the subscribers hear of both; calls wait for that up to 15 s. A call that breaks off with it is
    done again when it only looks; others raise an error that is `lost`. Every method raises HypervisorError.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._subscribers: list[Told] = []
        self._link = Link(source, self._tell)
        # A start waits for the servers of its disks; those who only look, or end a guest, do not wait behind it.
        self._starts = Link(source, lambda _name, _kind, _detail: None)
        self._starting: set[str] = set()

    async def open(self) -> None:
        """Connects, after starting libvirt if need be."""
        await self._link.open()
        await self._starts.open()

    async def close(self) -> None:
        """Closes the connection. Domains, and libvirt itself, run on."""
        await self._starts.close()
        await self._link.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def subscribe(self, told: Told) -> Callable[[], None]:
        """Calls `told(name, kind, detail)` on the asyncio loop with every event; `events.Kind` lists them.

        Subscribe before `open` to miss none. Returns the function that ends the subscription.
        """
        self._subscribers.append(told)
        return lambda: self._subscribers.remove(told)

    async def start(self, xml: str, paused: bool = False, files: Mapping[str, Descriptor] | None = None) -> None:
        """Starts a transient domain; returns when its QEMU runs, with the CPUs standing if `paused`.

        `files` are open files by the names that the XML has for them (fdgroup): QEMU uses these, opens none by its
        path, and their owners stay. A domain of that name or UUID that runs already is an error. One that cannot be
        started leaves nothing.
        """
        name = ElementTree.fromstring(xml).findtext("name", "")  # noqa: S314 - our own text
        flags = constant("VIR_DOMAIN_START_PAUSED") if paused else 0
        self._starting.add(name)
        try:
            await self._starts.call(name, lambda connection: domains.start(connection, xml, flags, files or {}))
        finally:
            self._starting.discard(name)

    async def domains(self) -> dict[str, DomainState]:
        """All domains that run, by name."""
        found = await self.repeat("", domains.running)
        return {state.name: state for state in found}

    async def state(self, name: str, uid: str = "") -> DomainState | None:
        """The domain's state; None when there is no such domain, never was or is gone, or is not that instance's."""

        def look(domain: Domain) -> DomainState | None:
            if uid and instance_uid(domain.XMLDesc(0)) != uid:
                return None
            if not domain.isActive():
                if name not in self._starting:
                    domains.forget(domain)
                return None
            return events.state(domain.name(), domain.UUIDString(), *domain.state()[:2])

        try:
            return await self._look_at(name, look)
        except HypervisorError as error:
            if error.missing:
                return None
            raise

    async def gone(self, name: str, uid: str) -> bool:
        """Whether libvirt has nothing of that instance's domain any more. The definition of one that has ended, which
        is left when its start was killed, is taken away."""
        try:
            return await self._look_at(name, lambda domain: domains.is_gone(domain, uid))
        except HypervisorError as error:
            if error.missing:
                return True
            raise

    async def unlike(self, names: Collection[str]) -> dict[str, str]:
        """The XML of every domain, whether it runs or not, that has none of these names; by name."""
        return await self.repeat("", lambda connection: domains.unlike(connection, names))

    async def renew(self) -> bool:
        """Starts a libvirt again that no longer does what it is told, if it is our own, and whether it is. Guests run
        on; calls that are under way are lost."""
        return await self._source.renew()

    async def last_reason(self, name: str, uuid: str) -> str | None:
        """Why that domain ended: shutdown (by the guest or at its request), crashed, destroyed, failed, ….

        It is read from the log that libvirtd keeps, so that it is known whoever was alive at the time. None when it
        was never started, has not ended, libvirtd itself was dead when it ended, or the log cannot be read from here.
        """
        logs = self._source.logs
        if logs is None:
            return None
        return await asyncio.to_thread(_reason_in, logs / f"{name}.log", uuid)

    async def xml(self, name: str) -> str:
        """The domain's live XML, with all that libvirt has filled in and no secrets."""
        return await self._look_at(name, lambda domain: domain.XMLDesc(0))

    async def shutdown(self, name: str) -> None:
        """Asks the guest to power off, by its agent or by ACPI; returns at once. A guest may ignore it."""
        await self._of(name, lambda domain: domain.shutdownFlags(0))

    async def destroy(self, name: str, uid: str = "") -> None:
        """Ends the domain's QEMU, and takes it from libvirt; returns when it has ended.

        One that is gone is no error. Given a `uid`, the domain of another instance, or of nobody's, is left alone.
        """
        with absent():
            await self._of(name, lambda domain: domains.destroy(domain, uid))

    async def suspend(self, name: str) -> None:
        """Stops the domain's CPUs. One that stands already is no error."""
        await self._of(name, lambda domain: domain.suspend())

    async def resume(self, name: str) -> None:
        """Lets the domain's CPUs run on, and tries again what had failed with errorPolicy stop."""
        await self._of(name, lambda domain: domain.resume())

    async def reset(self, name: str) -> None:
        """Resets the domain at once, as the button on a case does."""
        await self._of(name, lambda domain: domain.reset(0))

    async def reboot(self, name: str) -> None:
        """Asks the guest to reboot itself, by its agent or by ACPI; returns at once."""
        await self._of(name, lambda domain: domain.reboot(0))

    async def open_screen(self, name: str) -> socket.socket:
        """A connection to the domain's screen, which speaks RFB. There is no other way to it."""
        flags = constant("VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH")
        return socket.socket(fileno=await self._of(name, lambda domain: domain.openGraphicsFD(0, flags)))

    async def call(self, domain: str, work: Callable[[Connection], T]) -> T:
        """What `work` returns, which runs in a thread with the connection; `domain` is named in the error."""
        return await self._link.call(domain, work)

    async def repeat(self, domain: str, work: Callable[[Connection], T]) -> T:
        """As `call`, for work that may be done twice: it is, when libvirt was lost meanwhile."""
        try:
            return await self.call(domain, work)
        except HypervisorError as error:
            if not error.lost:
                raise
        return await self.call(domain, work)

    async def _of(self, name: str, work: Callable[[Domain], T]) -> T:
        return await self.call(name, lambda connection: work(connection.lookupByName(name)))

    async def _look_at(self, name: str, work: Callable[[Domain], T]) -> T:
        return await self.repeat(name, lambda connection: work(connection.lookupByName(name)))

    def _tell(self, name: str, kind: Kind, detail: str) -> None:
        for told in list(self._subscribers):
            told(name, kind, detail)


def _reason_in(log: Path, uuid: str) -> str | None:
    """The reason that follows the last start in a domain's log, if that start was of the domain with this UUID."""
    try:
        with log.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - LOG_TAIL))
            text = file.read().decode(errors="replace")
    except (FileNotFoundError, PermissionError):
        return None
    start = text.rfind(": starting up libvirt version: ")
    last = text[start:] if start >= 0 else text
    if start >= 0 and f"-uuid {uuid} " not in last:
        return None
    _, found, reason = last.rpartition(": shutting down, reason=")
    return reason.split()[0] if found else None
