"""VirtualMachineSnapshotContent: what a snapshot of a machine holds. Written by Ingot alone."""

from typing import Annotated, Literal

from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Raw, Shape, Time, Version, kind
from ingot.api.snapshot.parts import GROUP, VERSION, Failure


class MachineCopy(Shape):
    """A machine as it was."""

    metadata: Annotated[Opt[Raw], Field("Its labels, annotations and name.")] = UNSET
    spec: Annotated[Opt[Raw], Field("What it was to be.")] = UNSET
    status: Annotated[Opt[Raw], Field("What was known of it.")] = UNSET


class ContentSource(Shape):
    """What was kept."""

    virtual_machine: Opt[MachineCopy] = UNSET


class ClaimCopy(Shape):
    """A PersistentVolumeClaim as it was."""

    metadata: Annotated[Opt[Raw], Field("Its labels, annotations and name.")] = UNSET
    spec: Annotated[Opt[Raw], Field("What it asked for.")] = UNSET


class VolumeBackup(Shape, kw_only=True):
    """One volume of the machine."""

    volume_name: Annotated[str, Field("Its name in the machine.", min_length=1)]
    persistent_volume_claim: ClaimCopy
    volume_snapshot_name: Annotated[Opt[str], Field("The VolumeSnapshot that holds it.")] = UNSET
    saved_claim_name: Annotated[
        Opt[str], Field("The PersistentVolumeClaim that holds a full copy of it, where no VolumeSnapshot can.")
    ] = UNSET


class ContentSpec(Shape, kw_only=True):
    """The machine and its volumes."""

    virtual_machine_snapshot_name: Annotated[Opt[str], Field("The snapshot that it belongs to.")] = UNSET
    source: ContentSource
    volume_backups: Annotated[Opt[list[VolumeBackup]], Field("The volumes.", list_type="atomic")] = UNSET


class VolumeSnapshotState(Shape, kw_only=True):
    """How far the snapshot of one volume has come."""

    volume_snapshot_name: Annotated[str, Field("The VolumeSnapshot.")]
    creation_time: Annotated[Opt[Time | None], Field("The moment that it holds.")] = UNSET
    ready_to_use: Annotated[Opt[bool], Field("Whether it can be restored.")] = UNSET
    error: Opt[Failure] = UNSET


class Copying(Shape):
    """How far the full copies have come, all together."""

    stage: Annotated[
        Opt[Literal["Waiting", "Measured", "Ready", "Copying", "Done", "Failed"]], Field("The step that is under way.")
    ] = UNSET
    message: Annotated[Opt[str], Field("What it waits for, or what went wrong, for a person.")] = UNSET
    copied_bytes: Annotated[Opt[int], Field("What is copied.")] = UNSET
    total_bytes: Annotated[Opt[int], Field("What is to be copied; 0 while that is not known.")] = UNSET


class ContentStatus(Shape):
    """How far the content has come."""

    creation_time: Annotated[Opt[Time | None], Field("The moment that it holds.")] = UNSET
    ready_to_use: Annotated[Opt[bool], Field("Whether it can be restored.")] = UNSET
    error: Opt[Failure] = UNSET
    volume_snapshot_status: Annotated[
        Opt[list[VolumeSnapshotState]], Field("How far each volume has come.", list_type="atomic")
    ] = UNSET
    copying: Opt[Copying] = UNSET


@kind(
    group=GROUP,
    plural="virtualmachinesnapshotcontents",
    short_names=("vmsnapshotcontent", "vmsnapshotcontents"),
    categories=("all",),
    versions=(Version(VERSION),),
    columns=(
        Column("ReadyToUse", ".status.readyToUse", "boolean"),
        Column("CreationTime", ".status.creationTime", "date"),
        Column("Error", ".status.error.message"),
    ),
)
class VirtualMachineSnapshotContent(Kind, kw_only=True):
    """What a snapshot of a machine holds."""

    spec: ContentSpec
    status: Opt[ContentStatus] = UNSET
