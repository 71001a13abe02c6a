"""One leader among many processes, by a Lease: the rules of client-go, so that both can stand for one Lease."""

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.clock import SYSTEM, Clock, micro_timestamp, within
from ingot.kube.limits import jitter
from ingot.kube.objects import copy_of
from ingot.kube.transport import ConnectionFailed

log = logging.getLogger(__name__)

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class LeadershipLost(Exception):
    """The Lease was not renewed in time: another may lead now. `holder` is who we last saw on it."""

    def __init__(self, lease: str, holder: str) -> None:
        super().__init__(f'lost the lease {lease}, last seen with the holder "{holder}"')
        self.lease = lease
        self.holder = holder


def _identity() -> str:
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4()}"


@dataclass
class Election:
    """Standing for the Lease `namespace/name`.

    A leader gives up by itself after `renew_seconds` without a renewal, and others take over after
    `lease_seconds` without one. The first is the smaller, so that there are never two. Whether a Lease has run
    out is measured from when we saw it change, never by comparing the clocks of two machines.
    """

    client: Client
    name: str
    namespace: str
    identity: str = field(default_factory=_identity)
    lease_seconds: int = 15
    renew_seconds: float = 10.0
    retry_seconds: float = 2.0
    clock: Clock = SYSTEM
    _seen: Object = field(default_factory=dict, init=False)
    _seen_at: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        if not self.lease_seconds > self.renew_seconds > self.retry_seconds > 0:
            raise ValueError("an election needs lease_seconds > renew_seconds > retry_seconds > 0")

    @property
    def holder(self) -> str:
        """Who leads, as far as we have seen; "" for nobody."""
        return str(self._seen.get("spec", {}).get("holderIdentity") or "")

    @property
    def is_leader(self) -> bool:
        return self.holder == self.identity

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Stand until elected, then `lead`; give the Lease back when that ends or is cancelled.

        If leadership is lost, `lead` is cancelled, its end awaited, and LeadershipLost raised.
        """
        while not await self._attempt():
            await self.clock.sleep(jitter(self.retry_seconds, 1.2))
        log.info("%s leads by the lease %s/%s", self.identity, self.namespace, self.name)
        work = asyncio.ensure_future(lead())
        renewal = asyncio.create_task(self._renew())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise LeadershipLost(f"{self.namespace}/{self.name}", self.holder)
            work.result()
        finally:
            for task in (work, renewal):
                task.cancel()
            await asyncio.gather(work, renewal, return_exceptions=True)
            await self._release()

    async def _renew(self) -> None:
        """Renew again and again; returns when that has failed for too long."""
        renewed = self.clock.monotonic()
        while (left := renewed + self.renew_seconds - self.clock.monotonic()) > 0:
            began = self.clock.monotonic()
            try:
                if await within(self.clock, left, self._attempt()):
                    renewed = began
                elif not self.is_leader:
                    return
            except TimeoutError:
                return
            await self.clock.sleep(self.retry_seconds)

    async def _attempt(self) -> bool:
        """Take or renew the Lease; whether it is ours now."""
        if self.is_leader and self._is_valid() and await self._write(self._seen):
            return True
        try:
            found = await self.client.get(LEASES, self.name, self.namespace)
        except (ApiError, ConnectionFailed) as error:
            if isinstance(error, ApiError) and error.code == 404:
                return await self._write({"metadata": {"name": self.name, "namespace": self.namespace}})
            log.warning("lease %s/%s: %s", self.namespace, self.name, error)
            return False
        if found.get("spec") != self._seen.get("spec"):
            self._seen_at = self.clock.monotonic()
        self._seen = found
        if self.holder and not self.is_leader and self._is_valid():
            return False
        return await self._write(found)

    def _is_valid(self) -> bool:
        seconds = self._seen.get("spec", {}).get("leaseDurationSeconds") or 0
        return self._seen_at + seconds > self.clock.monotonic()

    async def _write(self, old: Object, release: bool = False) -> bool:
        """Put our name on the Lease, or take it off; False if someone else was quicker."""
        now = micro_timestamp(self.clock.time())
        lease = copy_of(old)
        spec = lease.setdefault("spec", {})
        if release or spec.get("holderIdentity") != self.identity:
            spec["acquireTime"] = now
        if spec.get("holderIdentity", self.identity) != self.identity:
            spec["leaseTransitions"] = (spec.get("leaseTransitions") or 0) + 1
        spec.setdefault("leaseTransitions", 0)
        spec["holderIdentity"] = "" if release else self.identity
        spec["leaseDurationSeconds"] = 1 if release else self.lease_seconds
        spec["renewTime"] = now
        exists = "resourceVersion" in lease["metadata"]
        try:
            self._seen = await (self.client.replace if exists else self.client.create)(LEASES, lease)
        except (ApiError, ConnectionFailed) as error:
            log.info("lease %s/%s: %s", self.namespace, self.name, error)
            return False
        self._seen_at = self.clock.monotonic()
        return True

    async def _release(self) -> None:
        if not self.is_leader:
            return
        try:
            await within(self.clock, self.renew_seconds, self._write(self._seen, release=True))
        except TimeoutError:
            log.warning("lease %s/%s: not given back; it runs out", self.namespace, self.name)
