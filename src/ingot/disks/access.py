"""Access: who may use a piece of storage at the same time, enforced on the storage itself (B4).

Each identity of storage has one Lease, which lists its holders and is changed by optimistic concurrency: of two nodes
that claim at once, one wins and the other is told about it. Leases are not renewed and do not run out. A claim ends
when its node gives it back, or when that node is certainly gone.
"""

import asyncio
from collections.abc import Callable
from enum import StrEnum
from weakref import WeakValueDictionary

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import INSTANCES, LEASES, NAMESPACES, NODES
from ingot.api.status import ApiError
from ingot.disks.fault import DiskFault
from ingot.disks.holder import (
    LABEL,
    Holder,
    holder_label,
    holders_of,
    identity_of,
    lease_name,
    new_lease,
    with_holders,
)
from ingot.disks.identity_words import words
from ingot.disks.source.refusal import final, refusal
from ingot.kube.client import Client

# An administrator puts it on a node that is off and will not come back by itself.
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


class AccessMode(StrEnum):
    """What others may do with the same storage."""

    WRITE_EXCLUSIVE = "write-exclusive"
    WRITE_SHARED = "write-shared"
    READ_SHARED = "read-shared"

    def beside(self, other: "AccessMode") -> bool:
        """Whether two may hold the same storage, one in this mode and one in the other."""
        return self is other and self is not AccessMode.WRITE_EXCLUSIVE


def wanted(volume: Object, disk: Object) -> AccessMode:
    """The mode that a volume states, or the one that its disk implies."""
    if stated := volume.get("accessMode"):
        return AccessMode(stated)
    if disk.get("shareable"):
        return AccessMode.WRITE_SHARED
    copied = (volume.get("copy") or {}).get("mode", "none") != "none"
    if copied or "ephemeral" in volume or _is_read_only(volume, disk):
        return AccessMode.READ_SHARED
    return AccessMode.WRITE_EXCLUSIVE


def _is_read_only(volume: Object, disk: Object) -> bool:
    device = disk.get("disk") or disk.get("lun") or {}
    network = volume.get("networkVolume")
    return bool(
        "cdrom" in disk
        or device.get("readonly")
        or "http" in volume
        or (volume.get("persistentVolumeClaim") or {}).get("readOnly")
        or (network and (network.get("readOnly", True) or network["uri"].lower().startswith(("http:", "https:"))))
    )


class Claims:
    """The claims of one node."""

    def __init__(self, client: Client, node: str) -> None:
        self.client = client
        self.node = node
        # Claims of one node take turns at a Lease: a hundred machines that start from one image do not race each other.
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def claim(self, vmi: Object, volume: str, identities: frozenset[str], mode: AccessMode) -> None:
        """Claims storage for a volume of a machine, or of another that says its kind: all of its identities, or none.
        It may be repeated.

        Raises DiskFault with the reason StorageInUse.
        """
        kind = vmi.get("kind") or INSTANCES.kind
        holder = Holder(namespace_of(vmi), name_of(vmi), uid_of(vmi), self.node, mode, volume, kind)
        taken = []
        try:
            # Everybody claims in the same order, so that of several that want overlapping storage one gets it all.
            for identity in sorted(identities):
                async with self._turn(lease_name(identity)):
                    if await self._take(identity, holder):
                        taken.append(identity)
        except DiskFault:
            for identity in taken:
                await self._drop(lease_name(identity), lambda found: found.key == holder.key)
            raise

    async def release(self, vmi_uid: str, keep: frozenset[str] = frozenset()) -> None:
        """Gives back all storage of a machine but the identities in `keep`. Its QEMU must not use it any more."""
        found = await self.client.list(LEASES, SYSTEM_NAMESPACE, label_selector=holder_label(vmi_uid))
        names = [name_of(lease) for lease in found["items"] if identity_of(lease) not in keep]
        await asyncio.gather(*(self._drop(name, lambda holder: holder.uid == vmi_uid) for name in names))

    async def held_by(self, vmi_uid: str) -> dict[str, frozenset[str]]:
        """The identities that a machine holds, by the names of its volumes."""
        found = await self.client.list(LEASES, SYSTEM_NAMESPACE, label_selector=holder_label(vmi_uid))
        held: dict[str, frozenset[str]] = {}
        for lease in found["items"]:
            for holder in holders_of(lease):
                if holder.uid == vmi_uid:
                    held[holder.volume] = held.get(holder.volume, frozenset()) | {identity_of(lease)}
        return held

    async def collect(self, instances: frozenset[str]) -> list[str]:
        """Ends the claims of machines that are no more; returns what was ended, for the log.

        `instances` are the uids of all machines that exist or still run here, QEMU and all. Of other nodes only the
        claims of those that are certainly gone are ended.
        """
        found = await self.client.list(LEASES, SYSTEM_NAMESPACE, label_selector=LABEL)
        elsewhere = {holder.node for lease in found["items"] for holder in holders_of(lease)} - {self.node}
        gone = {node for node in elsewhere if await self._is_gone(node)}

        def is_over(holder: Holder) -> bool:
            return holder.node in gone or (holder.node == self.node and holder.uid not in instances)

        ended = []
        for lease in found["items"]:
            if over := [holder for holder in holders_of(lease) if is_over(holder)]:
                await self._drop(name_of(lease), is_over)
                ended += [f"{identity_of(lease)}: {holder}" for holder in over]
        return ended

    async def _take(self, identity: str, holder: Holder) -> bool:
        """Adds the holder to the identity's Lease; whether it was not there before. Raises DiskFault."""
        # Every turn but the last means that somebody else got on meanwhile.
        while True:
            if await self._create(with_holders(new_lease(identity), [holder])):
                return True
            lease = await self._read(lease_name(identity))
            if lease is None:
                continue
            holders = holders_of(lease)
            if holder in holders:
                return False
            others = [other for other in holders if other.key != holder.key]
            for rival in [other for other in others if not AccessMode(holder.mode).beside(AccessMode(other.mode))]:
                if rival.node == self.node or not await self._is_gone(rival.node):
                    raise in_use(identity, holder, rival)
                others.remove(rival)
            if await self._replace(lease, [*others, holder]):
                return all(other.key != holder.key for other in holders)

    async def _drop(self, name: str, is_over: Callable[[Holder], bool]) -> None:
        """Takes holders off a Lease, and away with one that nobody holds."""
        async with self._turn(name):
            while (lease := await self._read(name)) is not None:
                holders = holders_of(lease)
                left = [holder for holder in holders if not is_over(holder)]
                if left == holders or await self._replace(lease, left):
                    return

    def _turn(self, name: str) -> asyncio.Lock:
        return self._turns.setdefault(name, asyncio.Lock())

    async def _is_gone(self, node: str) -> bool:
        """Whether it is certain that nothing runs on a node any more."""
        try:
            found = await self.client.get(NODES, node)
        except ApiError as error:
            if error.code == 404:
                return True
            raise
        return any(taint.get("key") == OUT_OF_SERVICE for taint in found["spec"].get("taints") or ())

    async def _read(self, name: str) -> Object | None:
        try:
            return await self.client.get(LEASES, name, SYSTEM_NAMESPACE)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    async def _create(self, lease: Object) -> bool:
        """Whether the Lease is ours; False when there is one already."""
        try:
            return await self._post(LEASES, lease)
        except ApiError as error:
            if error.code != 404:
                raise
        await self._post(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        return await self._post(LEASES, lease)

    async def _post(self, resource: Resource, obj: Object) -> bool:
        try:
            await self.client.create(resource, obj)
        except ApiError as error:
            if error.code == 409:
                return False
            raise
        return True

    async def _replace(self, lease: Object, holders: list[Holder]) -> bool:
        """Whether the Lease that was read is still the one, and now has these holders, or is gone with the last."""
        metadata = lease["metadata"]
        try:
            if holders:
                await self.client.replace(LEASES, with_holders(lease, holders))
            else:
                version = str(metadata["resourceVersion"])
                await self.client.delete(
                    LEASES, name_of(lease), SYSTEM_NAMESPACE, uid=uid_of(lease), resource_version=version
                )
        except ApiError as error:
            if error.code in (404, 409):
                return False
            raise
        return True


def in_use(identity: str, holder: Holder, rival: Holder) -> DiskFault:
    """The fault of storage that `holder` wants and `rival` has."""
    if rival.uid == holder.uid:
        message = (
            f"volumes {holder.volume!r} ({holder.mode}) and {rival.volume!r} ({rival.mode}) of this machine are the "
            f"same storage, {words(identity)}: remove one, or give both accessMode write-shared or read-shared"
        )
        return final(holder.volume, "StorageInUse", message)
    if rival.namespace == holder.namespace:
        who = f"{rival.kind} {rival.namespace}/{rival.name} on node {rival.node!r} as its volume {rival.volume!r}"
        cure = "stop that machine" if rival.kind == INSTANCES.kind else "wait until that is made"
    else:
        # Whose it is and where it runs is nobody's business in another namespace.
        who, cure = "a machine of another namespace", "ask its owner to stop it"
    message = (
        f"{words(identity)} is in use {rival.mode} by {who}, and is wanted {holder.mode}: {cure}, or give both volumes "
        "accessMode write-shared or read-shared"
    )
    return refusal(holder.volume, "StorageInUse", message)
