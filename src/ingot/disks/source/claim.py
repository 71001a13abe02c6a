"""Claims: by QEMU's own network driver where the PersistentVolume allows it, else where the kubelet has put them."""

import stat
from pathlib import Path

from ingot.api.object import Object, name_of
from ingot.disks import identity
from ingot.disks.claims import bound, driver_of, is_direct
from ingot.disks.endpoint import Block, Endpoint, File, Network
from ingot.disks.kubelet import UnknownPlugin, is_block, volume_path
from ingot.disks.place import Place
from ingot.disks.source import blank, filesystem, iscsi, rbd
from ingot.disks.source.refusal import patiently, refusal
from ingot.kube.client import Client


async def resolve(volume: Object, _vmi: Object, place: Place, client: Client) -> Endpoint:
    """The endpoint of a persistentVolumeClaim, dataVolume or ephemeral volume. Raises DiskFault."""
    name, driver = str(volume["name"]), driver_of(volume)
    claim, pv = await bound(volume, place.namespace, client)
    if is_direct(pv, driver):
        return await _direct(name, pv, place, client)
    if driver == "qemu":
        message = (
            f"driver.name is qemu, and PersistentVolume {name_of(pv)!r} of PersistentVolumeClaim {name_of(claim)!r} is "
            "neither iscsi nor rbd: leave the driver out, or make it kubelet"
        )
        raise refusal(name, "DriverUnsupported", message)
    return await _mounted(volume, claim, pv, place)


async def _direct(name: str, pv: Object, place: Place, client: Client) -> Network:
    if "iscsi" in pv["spec"]:
        return await iscsi.endpoint(iscsi.volume_reference(name, pv), place, client)
    keyring = str(pv["spec"]["rbd"].get("keyring") or "")
    return await rbd.volume_endpoint(rbd.volume_reference(name, pv), keyring, place, client)


async def _mounted(volume: Object, claim: Object, pv: Object, place: Place) -> File | Block:
    name, claim_name = str(volume["name"]), name_of(claim)
    try:
        path = volume_path(place.kubelet, place.pod_uid, pv)
    except UnknownPlugin as error:
        raise refusal(name, "VolumeUnsupported", str(error)) from None
    told = await identity.volume(name, pv, place.node)
    if is_block(pv):
        device, seen = await patiently(name, str(path), lambda: _device(name, claim_name, path, place.node))
        return Block(device, identities=told | seen)
    if blank.is_wanted(volume):
        await patiently(name, str(path), lambda: blank.fill(name, claim, path))
    opened = await patiently(name, str(path), lambda: filesystem.find(name, claim_name, path))
    # A file on a server's filesystem is another on each node by its path, and the same by the server's.
    seen = frozenset() if "nfs" in pv["spec"] else identity.file(place.node, opened)
    return File(path / filesystem.DISK, identities=told | seen, opened=opened)


def _device(name: str, claim: str, path: Path, node: str) -> tuple[Path, frozenset[str]]:
    """The device that the kubelet's link leads to, and what it is called."""
    try:
        device = path.resolve(strict=True)
        found = device.stat()
    except OSError as error:
        message = f"the kubelet has not attached PersistentVolumeClaim {claim!r} at {path} ({error.strerror})"
        raise refusal(name, "VolumeNotMounted", message, retry=2.0) from None
    if not stat.S_ISBLK(found.st_mode):
        message = f"PersistentVolumeClaim {claim!r} has volumeMode Block, and {path} is not a block device"
        raise refusal(name, "BadImage", message)
    return device, identity.block(node, device)
