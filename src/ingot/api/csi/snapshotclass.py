"""VolumeSnapshotClass: how snapshots are taken, and what becomes of them."""

from typing import Annotated

from ingot.api.csi.kinds import GROUP, KINDS, DeletionPolicy
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Version, kind


@kind(
    group=GROUP,
    plural="volumesnapshotclasses",
    short_names=("vsclass", "vsclasses"),
    namespaced=False,
    status=False,
    versions=(Version("v1"),),
    columns=(
        Column("Driver", ".driver", doc="Who takes the snapshots."),
        Column("DeletionPolicy", ".deletionPolicy", doc="Whether content and files go with the VolumeSnapshot."),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    among=KINDS,
)
class VolumeSnapshotClass(Kind, kw_only=True):
    """How snapshots are taken, and what becomes of them."""

    driver: Annotated[str, Field("Who takes the snapshots.")]
    deletion_policy: DeletionPolicy
    parameters: Annotated[Opt[dict[str, str]], Field("What the driver is told.")] = UNSET
