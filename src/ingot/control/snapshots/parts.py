"""Which of a machine's volumes a snapshot can hold, in which way, and why it cannot hold the others."""

from collections.abc import Mapping
from dataclasses import dataclass

from ingot.api.cdi.names import SELECTED_NODE, SHARES_BLOCKS
from ingot.api.kubevirt.traits import claim_of, kind_of
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import NODES, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.control.snapshots.kinds import SnapshotKinds, snapshot_kinds
from ingot.control.volumes.claim import class_of, is_local
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.placement import node_of
from ingot.disks.access import AccessMode, wanted
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager

# Disks that are no claim's, and outlive the guest that writes to them.
_LASTING = ("networkVolume", "iscsi", "rbd", "nbd", "gluster", "http", "hostDisk")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True)
class Part:
    """A volume: with its claim where that can have a VolumeSnapshot, `copied` where a full copy is made of it, with the
    claim if another one like it can be made; else with the reason.

    `lasting` says that something is lost when it is left out: the guest may write there, and it outlives the guest.
    """

    volume: str
    claim: Object | None = None
    why: str = ""
    lasting: bool = True
    copied: bool = False

    @property
    def is_held(self) -> bool:
        """Whether the snapshot holds it."""
        return self.copied or self.claim is not None


class Parts:
    """Claims, classes and volumes, out of the caches."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self.kinds: SnapshotKinds = snapshot_kinds(manager, clock)
        self.claims = manager.informer(VOLUME_CLAIMS)
        self._volumes = manager.informer(VOLUMES)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._nodes = manager.informer(NODES)

    def of(self, machine: Object, instance: Object | None) -> list[Part]:
        """Every volume of the machine's template, in its order. `instance` is the machine's while it runs."""
        spec = machine["spec"]["template"]["spec"]
        disks = {disk["name"]: disk for disk in spec["domain"]["devices"].get("disks") or ()}
        used = {each["name"]: each for each in instance["spec"].get("volumes") or ()} if instance else None
        return [
            self._part(volume, disks.get(volume["name"]), used, namespace_of(machine))
            for volume in spec.get("volumes") or ()
        ]

    def _part(self, volume: Object, disk: Object | None, used: Mapping[str, Object] | None, namespace: str) -> Part:
        name, claimed = str(volume["name"]), claim_of(volume)
        claim = self.claims.cache.get(Key(namespace, claimed)) if claimed else None
        if claimed:
            if claim is None or self.volume_of(claim) is None:
                what = "does not exist" if claim is None else "is not bound to a volume"
                return Part(name, None, f'PersistentVolumeClaim "{claimed}" {what}')
            why = self._why_not(claim)
            if not why and used is not None and (waits := self._waits_for_writers(claim)):
                copied = self._full_copy(volume, disk, used, claim, waits)
                return copied if copied.copied else Part(name, claim)
            if not why:
                return Part(name, claim)
        elif source := next((each for each in _LASTING if each in volume), ""):
            why = f"no VolumeSnapshot reaches a {source}"
        else:
            return Part(name, None, "it is made anew from the machine's spec at each start", lasting=False)
        return self._full_copy(volume, disk, used, claim, why)

    def _full_copy(
        self, volume: Object, disk: Object | None, used: Mapping[str, Object] | None, claim: Object | None, why: str
    ) -> Part:
        """Of what no VolumeSnapshot can be made, and `why`."""
        name = str(volume["name"])
        if disk is None:
            return Part(name, None, "no disk of the machine shows it", lasting=False)
        access = wanted(volume, disk)
        if access is AccessMode.READ_SHARED:
            return Part(name, None, "the guest does not write to it, or to a copy that ends with it", lasting=False)
        if access is AccessMode.WRITE_SHARED:
            return Part(name, None, f"{why}, and other machines may write to it while it is copied: save it there")
        if kind_of(disk) == "lun":
            return Part(name, None, f"{why}, and of a lun no copy is made: make it a disk, or save it there")
        if used is not None and used.get(name) != volume:
            message = f"{why}, and the running guest does not have it as the template says now"
            return Part(name, None, f"{message}: restart the machine, and make another snapshot")
        if self.default_class() is None:
            cure = "make one, or annotate one with storageclass.kubernetes.io/is-default-class"
            return Part(name, None, f"{why}, and there is no default StorageClass for a full copy of it: {cure}")
        has_class = claim is not None and self.storage_class(claim["spec"].get("storageClassName") or "") is not None
        return Part(name, claim if has_class else None, why, copied=True)

    def _why_not(self, claim: Object) -> str:
        """Why the claim, which is bound, cannot have a VolumeSnapshot; "" where it can."""
        shown = f'PersistentVolumeClaim "{name_of(claim)}"'
        storage_class = self._classes.cache.get(Key("", claim["spec"].get("storageClassName") or ""))
        if storage_class is None:
            return f"{shown} has no StorageClass, so nobody makes snapshots of it"
        if not self.kinds.are_served:
            return f"{shown}: this cluster has no VolumeSnapshots: install snapshot.storage.k8s.io"
        _, why = self.kinds.class_for(storage_class["provisioner"])
        return f"{shown}: {why}" if why else ""

    def _waits_for_writers(self, claim: Object) -> str:
        """Why a VolumeSnapshot of the claim is made only once nobody writes to it; "" where it need not wait."""
        if not is_local(self._classes.cache.get(Key("", claim["spec"].get("storageClassName") or ""))):
            return ""
        node = node_of(self.volume_of(claim), self._nodes.cache)
        if node is None or annotation(node, SHARES_BLOCKS) == "true":
            return ""
        return f'the local volumes of node "{name_of(node)}" cannot share blocks, and a guest writes to this one'

    def snapshot_class(self, storage_class: str) -> str:
        """The class of the snapshots of claims of that storage class, "" where there is none to choose."""
        known = self._classes.cache.get(Key("", storage_class))
        return self.kinds.class_for(known["provisioner"])[0] if known else ""

    def default_class(self) -> Object | None:
        """The class of claims that name none."""
        return class_of({}, self._classes.cache)

    def storage_class(self, name: str) -> Object | None:
        return self._classes.cache.get(Key("", name))

    def volume_of(self, claim: Object) -> Object | None:
        """The volume that a claim is bound to, both ways."""
        volume = self._volumes.cache.get(Key("", claim["spec"].get("volumeName") or ""))
        holder = (volume or {}).get("spec", {}).get("claimRef") or {}
        return volume if holder.get("uid") == uid_of(claim) else None

    def saved(self, claim: Object) -> Object:
        """The claim as a content keeps it: what another is made from, on the node where its volume is."""
        given = claim["metadata"].get("annotations") or {}
        annotations = {key: text for key, text in given.items() if key != _LAST_APPLIED}
        if node := node_of(self.volume_of(claim), self._nodes.cache):
            annotations[SELECTED_NODE] = name_of(node)
        metadata = {
            "name": name_of(claim),
            "namespace": namespace_of(claim),
            "uid": uid_of(claim),
            "labels": claim["metadata"].get("labels") or {},
            "annotations": annotations,
        }
        return {"metadata": metadata, "spec": claim["spec"]}
