"""VirtualMachineSnapshot: asks for a machine and its disks to be kept as they are at one moment."""

from typing import Annotated, Literal

import msgspec

from ingot.api.machinery import UNSET, Column, Duration, Field, Kind, Opt, Shape, Time, Version, kind
from ingot.api.snapshot.parts import GROUP, UNCHANGED, VERSION, Conditions, Failure, MachineReference

Indication = Literal["Online", "NoGuestAgent", "GuestAgent", "QuiesceTimeout", "Paused", "PartialSnapshot"]


class SnapshotSpec(Shape, kw_only=True):
    """Which machine, and what becomes of the content when the snapshot is deleted."""

    source: MachineReference
    deletion_policy: Annotated[
        Opt[Literal["Delete", "Retain"]],
        Field("Whether the content goes with the snapshot or stays; Delete if absent."),
    ] = UNSET
    failure_deadline: Annotated[
        Opt[Duration], Field("After how long a snapshot that is not complete has failed; 5m if absent, 0s for never.")
    ] = UNSET


class SourceIndication(Shape):
    """A circumstance of the machine at that moment."""

    indication: Annotated[Indication, Field("Which one.")]
    message: Annotated[str, Field("What it means for the snapshot.")]


class SnapshotVolumes(Shape):
    """Which volumes of the machine are in the snapshot."""

    included_volumes: Annotated[Opt[list[str]], Field("Those that are.", list_type="set")] = UNSET
    excluded_volumes: Annotated[Opt[list[str]], Field("Those that cannot be.", list_type="set")] = UNSET


class SnapshotStatus(Shape):
    """How far the snapshot has come."""

    source_uid: Annotated[Opt[str], Field("The uid of the machine.")] = msgspec.field(default=UNSET, name="sourceUID")
    virtual_machine_snapshot_content_name: Annotated[Opt[str], Field("The content.")] = UNSET
    creation_time: Annotated[Opt[Time | None], Field("The moment that is kept.")] = UNSET
    phase: Annotated[
        Opt[Literal["", "InProgress", "Succeeded", "Failed", "Deleting", "Unknown"]],
        Field("The step that is under way, or the outcome."),
    ] = UNSET
    ready_to_use: Annotated[Opt[bool], Field("Whether it can be restored.")] = UNSET
    error: Opt[Failure] = UNSET
    conditions: Opt[Conditions] = UNSET
    indications: Annotated[Opt[list[Indication]], Field("The same as sourceIndications, shorter.", list_type="set")] = (
        UNSET
    )
    source_indications: Annotated[
        Opt[list[SourceIndication]], Field("Circumstances of the machine at that moment.", list_type="atomic")
    ] = UNSET
    snapshot_volumes: Opt[SnapshotVolumes] = UNSET


@kind(
    group=GROUP,
    plural="virtualmachinesnapshots",
    short_names=("vmsnapshot", "vmsnapshots"),
    categories=("all",),
    versions=(Version(VERSION),),
    columns=(
        Column("SourceKind", ".spec.source.kind"),
        Column("SourceName", ".spec.source.name"),
        Column("Phase", ".status.phase"),
        Column("ReadyToUse", ".status.readyToUse", "boolean"),
        Column("CreationTime", ".status.creationTime", "date"),
        Column("Error", ".status.error.message"),
    ),
)
class VirtualMachineSnapshot(Kind, kw_only=True):
    """A machine and its disks as they are at one moment."""

    RULES = (UNCHANGED,)

    spec: SnapshotSpec
    status: Opt[SnapshotStatus] = UNSET
