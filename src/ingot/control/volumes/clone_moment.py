"""The full copy between a claim that a guest writes to and its clone: made for one clone, and gone when that is there.

It is a VirtualMachineSnapshotContent of one volume, without a snapshot: the guest's node copies the disk as it is at
one moment, while the guest goes on.
"""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.traits import claim_of, kind_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOT_CONTENTS
from ingot.control.volumes import interim, marks
from ingot.control.volumes.claim import class_of
from ingot.control.volumes.filler import Hindered, Means, Waiting
from ingot.control.writing import delete
from ingot.disks.access import AccessMode, wanted
from ingot.kube.cache import Key
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting

_PREFIX = "tmp-content-"
_INDEX = "content-for"
_PLACING = ("nodeSelector", "affinity", "tolerations", "schedulerName")


def _made_for(content: Object) -> Iterable[str]:
    return interim.made_for(content, _PREFIX)


class CloneMoments:
    """Makes and removes them. They are in the origin's namespace, where the target cannot own anything."""

    def __init__(self, means: Means, manager: Manager) -> None:
        self._client = manager.client
        self._classes = means.classes
        self._instances = manager.informer(INSTANCES)
        self.contents = manager.informer(MACHINE_SNAPSHOT_CONTENTS)
        self.contents.cache.add_index(_INDEX, _made_for)

    def targets_of(self, content: Object) -> list[Key]:
        """The claim that a content was made for; none for those of others."""
        target = marks.target_of(content) if name_of(content).startswith(_PREFIX) else None
        return [target] if target else []

    def can(self, origin: Object) -> bool:
        """Whether a running guest has the claim in a way that its disk can be copied meanwhile."""
        return self._guest(origin) is not None and class_of({}, self._classes.cache) is not None

    def is_begun(self, target: Object, origin: Object) -> bool:
        """Whether there is one for the target: what was begun from it is finished from it."""
        return self.contents.cache.get(_key(target, origin)) is not None

    async def ensure(self, target: Object, origin: Object) -> str:
        """The claim with the full copy of the origin, which nobody writes to. Raises Hindered until it is there."""
        key = _key(target, origin)
        content = self.contents.cache.get(key) or await self._make(target, origin, key)
        interim.check(MACHINE_SNAPSHOT_CONTENTS, content, target)
        status = content.get("status") or {}
        if status.get("readyToUse"):
            return str(content["spec"]["volumeBackups"][0]["savedClaimName"])
        raise Hindered(Waiting("CloneSourceInUse", f"{_copying(origin)}: {_progress(status)}"))

    async def _make(self, target: Object, origin: Object, key: Key) -> Object:
        found = self._guest(origin)
        if found is None:
            raise Hindered(Waiting("CloneSourceInUse", f"{_copying(origin)}: it has just been stopped", 1.0))
        instance, volume = found
        placing = {field: copy_of(instance)["spec"][field] for field in _PLACING if instance["spec"].get(field)}
        machine = {
            "metadata": {"name": name_of(instance), "namespace": key.namespace},
            "spec": {"template": {"spec": {**placing, "volumes": [volume]}}},
        }
        backup = {"volumeName": volume["name"], "persistentVolumeClaim": {}, "savedClaimName": f"tmp-{uid_of(target)}"}
        spec = {"source": {"virtualMachine": machine}, "volumeBackups": [backup]}
        return await interim.make(self._client, MACHINE_SNAPSHOT_CONTENTS, key, target, spec)

    def _guest(self, origin: Object) -> tuple[Object, Object] | None:
        """The instance that runs with the claim as a disk of its own, and its volume."""
        for instance in self._instances.cache.list(namespace_of(origin)):
            if phase.phase_of(instance) != phase.RUNNING or is_deleting(instance):
                continue
            disks = {each["name"]: each for each in instance["spec"]["domain"]["devices"].get("disks") or ()}
            for volume in instance["spec"].get("volumes") or ():
                disk = disks.get(volume["name"])
                if claim_of(volume) == name_of(origin) and disk is not None and kind_of(disk) == "disk":
                    is_own = wanted(volume, disk) is AccessMode.WRITE_EXCLUSIVE
                    return (instance, volume) if is_own else None
        return None

    async def sweep(self, key: Key, keep: str) -> None:
        """Delete those that were made for claims of that key, but for the one with the uid `keep`."""
        for content in self.contents.cache.by_index(_INDEX, str(key)):
            if name_of(content) != f"{_PREFIX}{keep}" and not is_deleting(content):
                await delete(self._client, MACHINE_SNAPSHOT_CONTENTS, content)


def _key(target: Object, origin: Object) -> Key:
    return Key(namespace_of(origin), f"{_PREFIX}{uid_of(target)}")


def _copying(origin: Object) -> str:
    return (
        f'PersistentVolumeClaim "{name_of(origin)}", which is to be cloned, is in use by a machine that runs, and is '
        "copied as it is at one moment first"
    )


def _progress(status: Object) -> str:
    copying = status.get("copying") or {}
    if why := (status.get("error") or {}).get("message"):
        return str(why)
    if copying.get("totalBytes"):
        return f"{copying.get('copiedBytes', 0)} of {copying['totalBytes']} bytes"
    return str(copying.get("message") or "it is being prepared")
