"""DataVolume: a volume that is filled from a source before anything may use it (G1)."""

from typing import Annotated, Literal, TypeAlias

from ingot.api.cdi.condition import Conditions
from ingot.api.cdi.faults import volume_faults
from ingot.api.cdi.sources import DataVolumeSource
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


class Checkpoint(Shape):
    """One stage of an import that follows a running machine's snapshots."""

    previous: Annotated[str, Field("The snapshot that the stage before ended with; empty for the first.")]
    current: Annotated[str, Field("The snapshot that this stage copies.")]


def _populated(target: str) -> str:
    return f"(has(self.{target}) && (has(self.{target}.dataSource) || has(self.{target}.dataSourceRef)))"


class DataVolumeSpec(Shape):
    """A volume and what it is to be filled with. Templates of other kinds hold it too."""

    RULES = (
        Rule("has(self.pvc) != has(self.storage)", "exactly one of pvc and storage is expected"),
        Rule("!(has(self.source) && has(self.sourceRef))", "source and sourceRef exclude each other"),
        Rule(
            f"has(self.source) || has(self.sourceRef) || {_populated('pvc')} || {_populated('storage')}",
            "source or sourceRef is expected, unless the claim has a dataSource or dataSourceRef",
        ),
        Rule(
            "!has(self.contentType) || self.contentType != 'archive' || !has(self.source) || "
            "!(has(self.source.blank) || has(self.source.registry))",
            "a blank or registry source cannot give an archive; kubevirt is expected",
            ".contentType",
        ),
    )

    source: Opt[DataVolumeSource] = UNSET
    source_ref: Opt[SourceRef] = UNSET
    pvc: Annotated[Opt[ClaimSpec], Field("The PersistentVolumeClaim to make, taken as it is.")] = UNSET
    storage: Opt[StorageSpec] = UNSET
    content_type: Annotated[
        Opt[Literal["kubevirt", "archive"]],
        Field("kubevirt, the default, for a disk image; archive for a tar file that is unpacked."),
    ] = UNSET
    preallocation: Annotated[Opt[bool], Field("Whether all blocks are allocated at once.")] = UNSET
    priority_class_name: Annotated[Opt[str], Field("The priority of the pods that do the work.")] = UNSET
    checkpoints: Annotated[Opt[list[Checkpoint]], Field("The stages of a multi-stage import.", list_type="atomic")] = (
        UNSET
    )
    final_checkpoint: Annotated[Opt[bool], Field("Whether the last checkpoint ends the import.")] = UNSET


class DataVolumeStatus(Shape):
    """How far the volume has come."""

    phase: Annotated[Opt[Phase], Field("The step that is under way, or the outcome.")] = UNSET
    progress: Annotated[Opt[str], Field("How much has been copied, as 42.17%; N/A while unknown.")] = UNSET
    restart_count: Annotated[Opt[Int32], Field("How often the work had to start again.")] = UNSET
    claim_name: Annotated[Opt[str], Field("The PersistentVolumeClaim that holds the content.")] = UNSET
    conditions: Opt[Conditions] = UNSET


def _kept(*fields: str) -> str:
    """A CEL expression: none of these fields of the spec differs from before."""
    return " && ".join(
        f"has(self.spec.{field}) == has(oldSelf.spec.{field}) && "
        f"(!has(self.spec.{field}) || self.spec.{field} == oldSelf.spec.{field})"
        for field in fields
    )


_STAGED = (
    "has(self.spec.checkpoints) && size(self.spec.checkpoints) > 0 && has(self.spec.source) && "
    "(has(self.spec.source.vddk) || has(self.spec.source.imageio))"
)
_OTHERS = _kept("source", "pvc", "storage", "contentType", "preallocation", "priorityClassName")


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
    ),
    validate=_validate,
)
class DataVolume(Kind, kw_only=True):
    """A volume that is filled from a source: imported, uploaded, cloned or blank."""

    RULES = (
        Rule(
            f"self.spec == oldSelf.spec || ({_STAGED} && {_OTHERS})",
            "Cannot update DataVolume Spec: only the checkpoints of a multi-stage import may change",
            ".spec",
        ),
    )

    spec: DataVolumeSpec
    status: Opt[DataVolumeStatus] = UNSET
