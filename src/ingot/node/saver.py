"""A saver: a pod that holds claims, and the content of a machine's snapshot that it was made for."""

from dataclasses import dataclass

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import MACHINE_SNAPSHOTS
from ingot.api.snapshot.saving import COPY, INSTANCE, NOW, SAVER, kept_volumes
from ingot.kube.cache import Key


@dataclass(frozen=True, slots=True)
class Saver:
    """What a pod asks of its node. Which disks are meant is read out of the content, whose writers were asked for their
    rights: a pod may be anybody's."""

    pod: Object
    content: Object

    @property
    def uid(self) -> str:
        return uid_of(self.pod)

    @property
    def copies(self) -> bool:
        """Whether disks are to be copied, and not only measured."""
        return said(self.pod, "labels", SAVER) == COPY

    @property
    def instance(self) -> str:
        """The uid of the instance whose guest is running on the disks; "" for a machine that does not run."""
        return said(self.pod, "annotations", INSTANCE)

    @property
    def is_told(self) -> bool:
        """Whether the moment has come."""
        return bool(said(self.pod, "annotations", NOW))

    @property
    def machine(self) -> Key:
        saved = self.content["spec"]["source"]["virtualMachine"]
        return Key(namespace_of(self.content), str(saved["metadata"]["name"]))

    @property
    def volumes(self) -> list[Object]:
        """Those of the machine that are saved as full copies, as it has them."""
        return kept_volumes(self.content)

    @property
    def holder(self) -> Object:
        """Who holds the disks, to those who want them too: the snapshot, for as long as there is this pod."""
        name = self.content["spec"].get("virtualMachineSnapshotName") or name_of(self.content)
        return {"kind": MACHINE_SNAPSHOTS.kind, "metadata": {**self.pod["metadata"], "name": name}}


def said(pod: Object, where: str, name: str) -> str:
    """A label or an annotation of a pod, "" where it has none."""
    return str((pod["metadata"].get(where) or {}).get(name, ""))
