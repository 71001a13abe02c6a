"""DataVolume: a volume that is filled from a source before anything may use it (G1)."""

from typing import Annotated, Literal, TypeAlias

from ingot.api.cdi.condition import Conditions
from ingot.api.cdi.faults import volume_faults
from ingot.api.cdi.sources import NO_ARCHIVE, ContentType, DataVolumeSource, Preallocation
from ingot.api.cdi.stages import Checkpoints, FinalCheckpoint, kept_but_stages
from ingot.api.machinery import UNSET, Column, Field, Int32, Kind, Opt, Rule, Shape, Version, kind
from ingot.api.machinery.meta import ClaimSpec
from ingot.api.object import Object
from ingot.api.status import Cause

Phase: TypeAlias = Literal[
    "Pending",
    "PVCBound",
    "WaitForFirstConsumer",
    "PendingPopulation",
    "ImportScheduled",
    "ImportInProgress",
    "UploadScheduled",
    "UploadReady",
    "CloneScheduled",
    "CloneInProgress",
    "SnapshotForSmartCloneInProgress",
    "CloneFromSnapshotSourceInProgress",
    "SmartClonePVCInProgress",
    "CSICloneInProgress",
    "PrepClaimInProgress",
    "ExpansionInProgress",
    "NamespaceTransferInProgress",
    "RebindInProgress",
    "Paused",
    "Succeeded",
    "Failed",
    "Unknown",
]


class StorageSpec(ClaimSpec):
    """A request for storage of which only what matters need be said; the rest suits the StorageClass.

    Without a size the volume is as large as the image or the volume that it is made from.
    """


class SourceRef(Shape, kw_only=True):
    """A DataSource that says where the content comes from at the moment the volume is made."""

    kind: Annotated[Literal["DataSource"], Field("The kind that is referred to.")]
    namespace: Annotated[Opt[str], Field("Its namespace; the volume's own if absent.")] = UNSET
    name: Annotated[str, Field("Its name.", min_length=1)]


def _populated(target: str) -> str:
    return f"(has(self.{target}) && (has(self.{target}.dataSource) || has(self.{target}.dataSourceRef)))"


_POPULATED = f"({_populated('pvc')} || {_populated('storage')})"


class DataVolumeSpec(Shape):
    """A volume and what it is to be filled with. Templates of other kinds hold it too."""

    RULES = (
        Rule("has(self.pvc) != has(self.storage)", "exactly one of pvc and storage is expected", ".pvc"),
        Rule("!(has(self.source) && has(self.sourceRef))", "source and sourceRef exclude each other", ".source"),
        Rule(
            f"has(self.source) || has(self.sourceRef) || {_POPULATED}",
            "source or sourceRef is expected, unless the claim has a dataSource or dataSourceRef",
            ".source",
        ),
        Rule(
            f"!(has(self.source) || has(self.sourceRef)) || !{_POPULATED}",
            "a claim with a dataSource or dataSourceRef is filled from there: no source or sourceRef is expected",
            ".source",
        ),
        NO_ARCHIVE,
    )

    source: Opt[DataVolumeSource] = UNSET
    source_ref: Opt[SourceRef] = UNSET
    pvc: Annotated[Opt[ClaimSpec], Field("The PersistentVolumeClaim to make, taken as it is.")] = UNSET
    storage: Opt[StorageSpec] = UNSET
    content_type: Opt[ContentType] = UNSET
    preallocation: Opt[Preallocation] = UNSET
    priority_class_name: Annotated[Opt[str], Field("The priority of the pods that do the work.")] = UNSET
    checkpoints: Opt[Checkpoints] = UNSET
    final_checkpoint: Opt[FinalCheckpoint] = UNSET


class Transfer(Shape, kw_only=True):
    """How many bytes have moved, and how fast. What is not known yet is absent."""

    done: Annotated[int, Field("The bytes that are there.", minimum=0)]
    total: Annotated[Opt[int], Field("The bytes that there will be.", minimum=0)] = UNSET
    bytes_per_second: Annotated[Opt[int], Field("How fast they come.", minimum=0)] = UNSET
    seconds_left: Annotated[Opt[int], Field("How long it will take at that speed.", minimum=0)] = UNSET


class CloneOrigin(Shape, kw_only=True):
    """A claim or a snapshot of another namespace."""

    kind: Annotated[Literal["PersistentVolumeClaim", "VolumeSnapshot"], Field("What it is.")]
    namespace: Annotated[str, Field("Where it is.")]
    name: Annotated[str, Field("Its name.")]


class DataVolumeStatus(Shape):
    """How far the volume has come."""

    phase: Annotated[Opt[Phase], Field("The step that is under way, or the outcome.")] = UNSET
    progress: Annotated[Opt[str], Field("How much has been copied, as 42.17%; N/A while unknown.")] = UNSET
    restart_count: Annotated[Opt[Int32], Field("How often the work had to start again.")] = UNSET
    claim_name: Annotated[Opt[str], Field("The PersistentVolumeClaim that holds the content.")] = UNSET
    conditions: Opt[Conditions] = UNSET
    transfer: Annotated[Opt[Transfer], Field("The work that is under way, in bytes; absent when none is.")] = UNSET
    origin: Annotated[
        Opt[CloneOrigin],
        Field("What a DataSource of another namespace stood for when its clone was begun, which is what is cloned."),
    ] = UNSET


_REASON = '.status.conditions[?(@.type=="Running")].message'


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    return volume_faults(new["spec"], "spec")


@kind(
    group="cdi.kubevirt.io",
    plural="datavolumes",
    short_names=("dv", "dvs"),
    categories=("all",),
    versions=(Version("v1beta1"),),
    columns=(
        Column("Phase", ".status.phase", doc="The step that is under way, or the outcome."),
        Column("Progress", ".status.progress", doc="How much has been copied; N/A while unknown."),
        Column("Restarts", ".status.restartCount", "integer", "How often the work had to start again."),
        Column("Age", ".metadata.creationTimestamp", "date"),
        Column("Done", ".status.transfer.done", "integer", "The bytes that are there."),
        Column("Left", ".status.transfer.secondsLeft", "integer", "Seconds that it will take."),
        Column("Total", ".status.transfer.total", "integer", "The bytes that there will be.", priority=1),
        Column("Rate", ".status.transfer.bytesPerSecond", "integer", "Bytes per second.", priority=1),
        Column("Reason", _REASON, doc="Why the work runs, waits or has ended.", priority=1),
    ),
    validate=_validate,
    # Its origin is cloned without asking again.
    guard_status=True,
)
class DataVolume(Kind, kw_only=True):
    """A volume that is filled from a source: imported, uploaded, cloned or blank."""

    RULES = (
        Rule(
            kept_but_stages("source", "pvc", "storage", "contentType", "preallocation", "priorityClassName"),
            "Cannot update DataVolume Spec: only the checkpoints of a multi-stage import may change",
            ".spec",
        ),
    )

    spec: DataVolumeSpec
    status: Opt[DataVolumeStatus] = UNSET
