"""PersistentVolumeClaims as a pod's volumes: put where a kubelet would put them."""

import shutil
from pathlib import Path

from ingot.api.object import Object, name_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.disks.kubelet import UnknownPlugin, is_block, volume_path
from ingot.kube.client import Client
from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.mounts import mount
from ingot.standalone.volumes.words import belongs_to


async def attach(client: Client, pod: Object, place: PodDirectory, claim_name: str) -> Path:
    """Makes the claim's volume reachable for the pod; where it is. Raises PodFault while that cannot be."""
    volume = await _bound(client, pod["metadata"]["namespace"], claim_name)
    try:
        path = volume_path(place.root, place.uid, volume)
    except UnknownPlugin as error:
        raise PodFault("FailedMount", str(error)) from error
    spec = volume["spec"]
    if "hostPath" in spec:
        _check(path, volume)
    elif "local" in spec:
        source = Path(spec["local"]["path"])
        _check(source, volume)
        _link(place, path, source)
    elif "nfs" in spec:
        await _nfs(place, path, volume)
    else:
        raise PodFault("FailedMount", _refusal(volume))
    return path


async def _bound(client: Client, namespace: str, name: str) -> Object:
    try:
        claim = await client.get(VOLUME_CLAIMS, name, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        why = f"PersistentVolumeClaim {namespace}/{name} is not there; create it"
        raise PodFault("FailedMount", why) from error
    named = claim["spec"].get("volumeName")
    if not named or claim.get("status", {}).get("phase") != "Bound":
        raise PodFault("FailedMount", f"PersistentVolumeClaim {namespace}/{name} is not bound yet; waiting for that")
    volume = await client.get(VOLUMES, named)
    if not belongs_to(volume, claim):
        why = f"PersistentVolumeClaim {namespace}/{name} names PersistentVolume {named}, which is another claim's"
        raise PodFault("FailedMount", f"{why}: use that one, or make the claim anew without spec.volumeName")
    return volume


def _check(source: Path, volume: Object) -> None:
    if not source.exists():
        why = f"PersistentVolume {name_of(volume)!r}: {source} is not there; make it, or put the volume right"
        raise PodFault("FailedMount", why)


def _link(place: PodDirectory, path: Path, source: Path) -> None:
    place.make(path.parent)
    if path.is_symlink() and path.readlink() == source:
        return
    path.unlink(missing_ok=True)
    path.symlink_to(source)


async def _nfs(place: PodDirectory, path: Path, volume: Object) -> None:
    if shutil.which("mount.nfs") is None:
        raise PodFault("FailedMount", "there is no program `mount.nfs`; install it: apt-get install nfs-common")
    nfs = volume["spec"]["nfs"]
    options = [*(volume["spec"].get("mountOptions") or ()), *(["ro"] if nfs.get("readOnly") else [])]
    place.make(path)
    await mount(path, "nfs", f"{nfs['server']}:{nfs['path']}", options)


def _refusal(volume: Object) -> str:
    """Why a volume of another sort cannot be had here, and what to do instead."""
    spec = volume["spec"]
    sort = next((key for key in spec if isinstance(spec[key], dict) and key not in _NO_SOURCES), "source")
    shape = "block" if is_block(volume) else "filesystem"
    direct = "; give the VM's volume driver: qemu, which needs no mount" if sort in ("iscsi", "rbd") else ""
    return (
        f"PersistentVolume {name_of(volume)!r}: a {shape} volume of {sort} cannot be attached on one machine"
        f"{direct}; local, hostPath and nfs can"
    )


_NO_SOURCES = ("capacity", "claimRef", "nodeAffinity")
