"""VolumeSnapshot: what a volume held at one moment, as users ask for it."""

from typing import Annotated

from ingot.api.csi.kinds import GROUP, KINDS, SnapshotError
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Quantity, Rule, Shape, Time, Version, kind


def _fixed(name: str) -> tuple[Rule, ...]:
    return (Rule("self == oldSelf", f"{name} is immutable"),)


class SnapshotSource(Shape):
    """Where the snapshot comes from: a claim that it is taken of, or a content that is there already."""

    RULES = (
        Rule(
            "has(self.persistentVolumeClaimName) != has(self.volumeSnapshotContentName)",
            "exactly one of persistentVolumeClaimName and volumeSnapshotContentName must be set",
        ),
        Rule(
            "!has(oldSelf.persistentVolumeClaimName) || has(self.persistentVolumeClaimName)",
            "persistentVolumeClaimName is required once set",
        ),
        Rule(
            "!has(oldSelf.volumeSnapshotContentName) || has(self.volumeSnapshotContentName)",
            "volumeSnapshotContentName is required once set",
        ),
    )

    persistent_volume_claim_name: Annotated[
        Opt[str],
        Field("The claim in the same namespace that it is taken of.", rules=_fixed("persistentVolumeClaimName")),
    ] = UNSET
    volume_snapshot_content_name: Annotated[
        Opt[str], Field("The VolumeSnapshotContent that it is bound to.", rules=_fixed("volumeSnapshotContentName"))
    ] = UNSET


class SnapshotSpec(Shape):
    """What is to be had."""

    source: SnapshotSource
    volume_snapshot_class_name: Annotated[
        Opt[str],
        Field(
            "How it is taken; absent for the default class of the volume's driver.",
            rules=(Rule("size(self) > 0", "volumeSnapshotClassName must not be the empty string when set"),),
        ),
    ] = UNSET


class SnapshotStatus(Shape):
    """What there is of it."""

    bound_volume_snapshot_content_name: Annotated[Opt[str], Field("The content that it is bound to.")] = UNSET
    creation_time: Annotated[Opt[Time], Field("When it was taken.")] = UNSET
    ready_to_use: Annotated[Opt[bool], Field("Whether volumes can be made of it.")] = UNSET
    restore_size: Annotated[Opt[Quantity], Field("How large a volume must be at least to hold it.")] = UNSET
    error: Opt[SnapshotError] = UNSET


@kind(
    group=GROUP,
    plural="volumesnapshots",
    short_names=("vs",),
    versions=(Version("v1"),),
    columns=(
        Column("ReadyToUse", ".status.readyToUse", "boolean", "Whether volumes can be made of it."),
        Column("SourcePVC", ".spec.source.persistentVolumeClaimName", doc="The claim that it is taken of."),
        Column("SourceSnapshotContent", ".spec.source.volumeSnapshotContentName", doc="The content that was given."),
        Column("RestoreSize", ".status.restoreSize", doc="How large a volume must be at least to hold it."),
        Column("SnapshotClass", ".spec.volumeSnapshotClassName", doc="How it is taken."),
        Column("SnapshotContent", ".status.boundVolumeSnapshotContentName", doc="The content that it is bound to."),
        Column("CreationTime", ".status.creationTime", "date", "When it was taken."),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    among=KINDS,
)
class VolumeSnapshot(Kind, kw_only=True):
    """What a volume held at one moment. New volumes are made of it, by a claim's dataSourceRef."""

    spec: SnapshotSpec
    status: Opt[SnapshotStatus] = UNSET
