"""The full copy between a claim that a guest writes to and its clone: made for one clone, and gone when that is there.

It is a VirtualMachineSnapshotContent of one volume, without a snapshot: the guest's node copies the disk as it is at
one moment, while the guest goes on.
"""

from collections.abc import Iterable

from ingot.api.kubevirt import phase
from ingot.api.kubevirt.traits import claim_of, kind_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import INSTANCES, MACHINE_SNAPSHOT_CONTENTS
from ingot.api.snapshot.saving import Stage
from ingot.control.volumes import interim, marks
from ingot.control.volumes.claim import class_of
from ingot.control.volumes.filler import Hindered, Means, Waiting
from ingot.control.volumes.place import START_SECONDS
from ingot.control.writing import delete
from ingot.disks.access import AccessMode, wanted
from ingot.kube.cache import Key
from ingot.kube.clock import Clock
from ingot.kube.manager import Manager
from ingot.kube.objects import copy_of, is_deleting

_PREFIX = "tmp-content-"
_INDEX = "content-for"
# How often it is looked whether there is a place for it, or another one has ended.
_AGAIN_SECONDS = 5.0
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

    async def find(self, target: Object, origin: Object) -> Object | None:
        """The one for the target, if there is one: what was begun from it is finished from it. Raises Hindered."""
        content = self.contents.cache.get(_key(target, origin))
        if content is not None:
            await self._check(content, target, origin)
        return content

    async def _check(self, content: Object, target: Object, origin: Object) -> None:
        fits = _claim(content) == name_of(origin)
        await interim.check(self._client, MACHINE_SNAPSHOT_CONTENTS, content, target, fits=fits)

    def check_turn(self, origin: Object) -> None:
        """A guest's disks are copied one after the other: who would only wait for another copy of that guest is not to
        begin one, which would hold a place at the gate meanwhile. Raises Hindered."""
        instance, _ = self._running(origin)
        for content in self.contents.cache.list(namespace_of(origin)):
            if list(_made_for(content)) and _machine(content) == name_of(instance) and not saved_claim(content):
                raise Hindered(waiting(origin, "that is being done for another clone, and begun when it is done"))

    async def begin(self, target: Object, origin: Object) -> Object:
        """The one for the target, made if it is not there. Raises Hindered."""
        key, (instance, volume) = _key(target, origin), self._running(origin)
        placing = {field: copy_of(instance)["spec"][field] for field in _PLACING if instance["spec"].get(field)}
        machine = {
            "metadata": {"name": name_of(instance), "namespace": key.namespace},
            "spec": {"template": {"spec": {**placing, "volumes": [volume]}}},
        }
        backup = {"volumeName": volume["name"], "persistentVolumeClaim": {}, "savedClaimName": f"tmp-{uid_of(target)}"}
        spec = {"source": {"virtualMachine": machine}, "volumeBackups": [backup]}
        content = await interim.make(self._client, MACHINE_SNAPSHOT_CONTENTS, key, target, spec)
        await self._check(content, target, origin)
        return content

    def _running(self, origin: Object) -> tuple[Object, Object]:
        found = self._guest(origin)
        if found is None:
            raise Hindered(waiting(origin, "it has just been stopped", 1.0))
        return found

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


def _machine(content: Object) -> str:
    return str(content["spec"]["source"]["virtualMachine"]["metadata"]["name"])


def _claim(content: Object) -> str | None:
    """The claim that it is the full copy of; None for one that is none of ours, whatever its name."""
    template = content["spec"]["source"].get("virtualMachine", {}).get("spec", {}).get("template", {})
    volumes = template.get("spec", {}).get("volumes") or []
    return claim_of(volumes[0]) if len(volumes) == 1 else None


def saved_claim(content: Object) -> str:
    """The claim with the full copy, which nobody writes to; "" until it is complete."""
    is_ready = (content.get("status") or {}).get("readyToUse")
    return str(content["spec"]["volumeBackups"][0]["savedClaimName"]) if is_ready else ""


def moves(content: Object, clock: Clock) -> bool:
    """Whether bytes are copied, or about to be: not while it waits for something, or has failed."""
    status = content.get("status") or {}
    if status.get("error"):
        return False
    stage = (status.get("copying") or {}).get("stage") or Stage.WAITING
    return stage != Stage.WAITING or clock.time() - marks.created(content) < START_SECONDS


def copied(content: Object) -> int:
    """How many bytes are copied by now."""
    return int(((content.get("status") or {}).get("copying") or {}).get("copiedBytes") or 0)


def waiting(origin: Object, why: str, again: float = _AGAIN_SECONDS) -> Waiting:
    """What is said while there is no full copy."""
    message = (
        f'PersistentVolumeClaim "{name_of(origin)}", which is to be cloned, is in use by a machine that runs, and is '
        "copied as it is at one moment first"
    )
    return Waiting("CloneSourceInUse", f"{message}: {why}", again)


def progress(content: Object) -> str:
    """How far the full copy is, or why it does not get on."""
    status = content.get("status") or {}
    copying = status.get("copying") or {}
    if why := (status.get("error") or {}).get("message"):
        return str(why)
    if copying.get("totalBytes"):
        return f"{copying.get('copiedBytes', 0)} of {copying['totalBytes']} bytes"
    return str(copying.get("message") or "it is being prepared")
