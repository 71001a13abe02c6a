"""StorageClasses, as CDI tells of its StorageProfiles (G9)."""

from collections.abc import Iterator

from ingot.api.object import Object, name_of
from ingot.api.resources import STORAGE_CLASSES
from ingot.control.monitoring.family import Family, gauge
from ingot.control.snapshots.kinds import snapshot_kinds
from ingot.control.volumes.claim import DEFAULT_CLASS, DEFAULT_VIRT_CLASS, is_local
from ingot.control.volumes.marks import annotation
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager

_LABELS = ("storageclass", "provisioner", "complete", "default", "virtdefault", "rwx", "smartclone")


class ClassFigures:
    """Which there are, and which of them volumes get that name none."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM) -> None:
        self._classes = manager.informer(STORAGE_CLASSES)
        self._kinds = snapshot_kinds(manager, clock)

    def families(self) -> Iterator[Family]:
        doc = "StorageClasses: what Ingot knows of each, in CDI's words; rwx is unknown but for volumes of one machine"
        found = ((self._about(each), 1) for each in self._classes.cache.list())
        yield gauge("kubevirt_cdi_storageprofile_info", doc, _LABELS, found)

    def _about(self, storage_class: Object) -> tuple[str, ...]:
        provisioner = str(storage_class.get("provisioner", ""))
        return (
            name_of(storage_class),
            provisioner,
            # What a volume leaves out is chosen for every class.
            "true",
            _word(annotation(storage_class, DEFAULT_CLASS) == "true"),
            _word(annotation(storage_class, DEFAULT_VIRT_CLASS) == "true"),
            "false" if is_local(storage_class) else "unknown",
            _word(bool(self._kinds.class_for(provisioner)[0])),
        )


def _word(value: bool) -> str:
    return "true" if value else "false"
