"""What a VolumeSnapshot asks for: which volume, by which class."""

from dataclasses import dataclass

from ingot.api.cdi.filling import has_failed, is_being_filled
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import SNAPSHOT_CONTENTS, SNAPSHOTS
from ingot.kube.cache import Cache, Key
from ingot.kube.objects import is_deleting
from ingot.standalone.volumes.snapshot_class import defaults
from ingot.standalone.volumes.snapshot_faults import SnapshotFault
from ingot.standalone.volumes.snapshot_words import CONTENT_BOUND, DRIVER, content_name
from ingot.standalone.volumes.words import (
    LOCAL_CLASS,
    LOCAL_PROVISIONER,
    PROVISIONED_BY,
    annotation,
    belongs_to,
    phase_of,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The claim and the volume that a snapshot is taken of, and the class that says how."""

    claim: Object
    volume: Object
    snapshot_class: Object

    def content(self, snapshot: Object) -> Object:
        """The content for the snapshot, to be created."""
        reference = {
            "apiVersion": SNAPSHOTS.api_version,
            "kind": SNAPSHOTS.kind,
            "namespace": namespace_of(snapshot),
            "name": name_of(snapshot),
            "uid": uid_of(snapshot),
            "resourceVersion": snapshot["metadata"]["resourceVersion"],
        }
        return {
            "apiVersion": SNAPSHOT_CONTENTS.api_version,
            "kind": SNAPSHOT_CONTENTS.kind,
            "metadata": {"name": content_name(uid_of(snapshot)), "finalizers": [CONTENT_BOUND]},
            "spec": {
                "deletionPolicy": self.snapshot_class["deletionPolicy"],
                "driver": DRIVER,
                "source": {"volumeHandle": name_of(self.volume)},
                "sourceVolumeMode": self.volume["spec"].get("volumeMode", "Filesystem"),
                "volumeSnapshotClassName": name_of(self.snapshot_class),
                "volumeSnapshotRef": reference,
            },
        }


class Planner:
    """Answers from caches alone."""

    def __init__(self, claims: Cache, volumes: Cache, classes: Cache) -> None:
        self._claims = claims
        self._volumes = volumes
        self._classes = classes

    def plan(self, snapshot: Object) -> Plan:
        """How the snapshot is taken. Raises SnapshotFault while it cannot be."""
        snapshot_class = self._class(snapshot)
        key = Key(namespace_of(snapshot), snapshot["spec"]["source"].get("persistentVolumeClaimName", ""))
        claim = self._claims.get(key)
        if claim is None:
            raise _fault(f"claim {key} does not exist: see spec.source.persistentVolumeClaimName")
        if is_deleting(claim):
            raise _fault(f"claim {key} is being deleted")
        volume = self._volumes.get(Key("", claim["spec"].get("volumeName", "")))
        if volume is None or phase_of(claim) != "Bound":
            raise _fault(f"claim {key} is not bound yet; tried again when it is")
        if is_being_filled(claim):
            raise _fault(f"claim {key} is still being filled; tried again when it is done")
        if has_failed(claim):
            raise _fault(f"claim {key} could not be filled: see its events, and take another")
        if not belongs_to(volume, claim):
            raise _fault(f"claim {key} names volume {name_of(volume)}, which is another claim's: take that one")
        if annotation(volume, PROVISIONED_BY) != LOCAL_PROVISIONER:
            raise _fault(f"claim {key} has volume {name_of(volume)}, which is not a local one: only those can be taken")
        return Plan(claim, volume, snapshot_class)

    def _class(self, snapshot: Object) -> Object:
        name = snapshot["spec"].get("volumeSnapshotClassName")
        if name:
            found = self._classes.get(Key("", name))
            if found is None:
                why = f"VolumeSnapshotClass {name} does not exist: make it, or take {LOCAL_CLASS}"
                raise SnapshotFault("GetSnapshotClassFailed", why)
            if found["driver"] != DRIVER:
                why = f"VolumeSnapshotClass {name} is of driver {found['driver']}, which is not on this machine"
                raise SnapshotFault("GetSnapshotClassFailed", f"{why}: take {LOCAL_CLASS}")
            return found
        found_defaults = defaults(self._classes)
        if len(found_defaults) != 1:
            why = f"spec.volumeSnapshotClassName is missing, and {len(found_defaults)} classes of {DRIVER} are defaults"
            raise SnapshotFault("SetDefaultSnapshotClassFailed", f"{why}: name one, such as {LOCAL_CLASS}")
        return found_defaults[0]


def _fault(message: str) -> SnapshotFault:
    return SnapshotFault("SnapshotContentCreationFailed", message)
