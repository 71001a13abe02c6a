"""VolumeSnapshotContent: a snapshot as the storage has it, as a PersistentVolume is to a claim."""

from typing import Annotated

from ingot.api.csi.kinds import GROUP, KINDS, DeletionPolicy, SnapshotError
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Rule, Shape, Version, kind


def _fixed(name: str) -> tuple[Rule, ...]:
    return (Rule("self == oldSelf", f"{name} is immutable"),)


class ContentSource(Shape):
    """What it is made of: a volume, or a snapshot that the storage has already."""

    RULES = (
        Rule(
            "has(self.volumeHandle) != has(self.snapshotHandle)",
            "exactly one of volumeHandle and snapshotHandle must be set",
        ),
        Rule("!has(oldSelf.volumeHandle) || has(self.volumeHandle)", "volumeHandle is required once set"),
        Rule("!has(oldSelf.snapshotHandle) || has(self.snapshotHandle)", "snapshotHandle is required once set"),
    )

    volume_handle: Annotated[Opt[str], Field("The volume that it is taken of.", rules=_fixed("volumeHandle"))] = UNSET
    snapshot_handle: Annotated[
        Opt[str], Field("What the storage calls the snapshot.", rules=_fixed("snapshotHandle"))
    ] = UNSET


class SnapshotReference(Shape):
    """The VolumeSnapshot that it belongs to."""

    RULES = (
        Rule(
            "has(self.name) && has(self.__namespace__)",
            "both spec.volumeSnapshotRef.name and spec.volumeSnapshotRef.namespace must be set",
        ),
    )

    api_version: Opt[str] = UNSET
    kind: Opt[str] = UNSET
    namespace: Annotated[Opt[str], Field("Its namespace.")] = UNSET
    name: Annotated[Opt[str], Field("Its name.")] = UNSET
    uid: Annotated[Opt[str], Field("Its uid; absent until it is bound.")] = UNSET
    resource_version: Opt[str] = UNSET
    field_path: Opt[str] = UNSET


class ContentSpec(Shape):
    """What the storage is to have."""

    RULES = (
        Rule("!has(oldSelf.sourceVolumeMode) || has(self.sourceVolumeMode)", "sourceVolumeMode is required once set"),
    )

    deletion_policy: DeletionPolicy
    driver: Annotated[str, Field("Whose snapshot it is.")]
    source: ContentSource
    volume_snapshot_ref: Annotated[SnapshotReference, Field(map_type="atomic")]
    source_volume_mode: Annotated[
        Opt[str], Field("The mode of the volume that it is taken of.", rules=_fixed("sourceVolumeMode"))
    ] = UNSET
    volume_snapshot_class_name: Annotated[Opt[str], Field("How it was taken.")] = UNSET


class ContentStatus(Shape):
    """What the storage has."""

    snapshot_handle: Annotated[Opt[str], Field("What the storage calls the snapshot.")] = UNSET
    creation_time: Annotated[Opt[int], Field("When it was taken, in nanoseconds since 1970.")] = UNSET
    ready_to_use: Annotated[Opt[bool], Field("Whether volumes can be made of it.")] = UNSET
    restore_size: Annotated[Opt[int], Field("How many bytes a volume must have at least to hold it.", minimum=0)] = (
        UNSET
    )
    volume_group_snapshot_handle: Annotated[Opt[str], Field("The group that it was taken with.")] = UNSET
    error: Opt[SnapshotError] = UNSET


@kind(
    group=GROUP,
    plural="volumesnapshotcontents",
    short_names=("vsc", "vscs"),
    namespaced=False,
    versions=(Version("v1"),),
    columns=(
        Column("ReadyToUse", ".status.readyToUse", "boolean", "Whether volumes can be made of it."),
        Column("RestoreSize", ".status.restoreSize", "integer", "How large a volume must be at least to hold it."),
        Column("DeletionPolicy", ".spec.deletionPolicy", doc="Whether it goes with its VolumeSnapshot."),
        Column("Driver", ".spec.driver", doc="Whose snapshot it is."),
        Column("VolumeSnapshotClass", ".spec.volumeSnapshotClassName", doc="How it was taken."),
        Column("VolumeSnapshot", ".spec.volumeSnapshotRef.name", doc="The VolumeSnapshot that it belongs to."),
        Column("VolumeSnapshotNamespace", ".spec.volumeSnapshotRef.namespace", doc="The namespace of that."),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    among=KINDS,
)
class VolumeSnapshotContent(Kind, kw_only=True):
    """A snapshot as the storage has it."""

    spec: ContentSpec
    status: Opt[ContentStatus] = UNSET
