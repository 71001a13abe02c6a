"""Volume{Import,Upload,Clone}Source: what fills a claim that names one of them as its dataSourceRef (G1).

DataVolumes are filled through them too: they are the one door, of which a DataVolume is the face.
"""

from typing import Annotated

from ingot.api.cdi.faults import source_faults
from ingot.api.cdi.sources import NO_ARCHIVE, ContentType, ImportSource, Preallocation
from ingot.api.cdi.stages import STAGED, Checkpoints, FinalCheckpoint, kept_but_stages
from ingot.api.machinery import UNSET, Field, Kind, Opt, Rule, Shape, Version, kind
from ingot.api.machinery.meta import TypedLocalReference
from ingot.api.object import Object
from ingot.api.status import Cause

_SHORT_NAME = Rule(
    "size(self.metadata.name) <= 63",
    "a name of at most 63 characters is expected, since labels carry it",
    ".metadata.name",
)


class NoStatus(Shape):
    """Nothing: how far the work has come is told by the claim that is filled."""


class ImportSourceSpec(Shape, kw_only=True):
    """What is imported, and as what."""

    RULES = (NO_ARCHIVE,)

    source: ImportSource
    content_type: Opt[ContentType] = UNSET
    preallocation: Opt[Preallocation] = UNSET
    target_claim: Annotated[Opt[str], Field("The one claim that a multi-stage import fills.")] = UNSET
    checkpoints: Opt[Checkpoints] = UNSET
    final_checkpoint: Opt[FinalCheckpoint] = UNSET


def _import_faults(new: Object, _old: Object | None) -> list[Cause]:
    return list(source_faults(new["spec"]["source"], "spec.source"))


@kind(
    group="cdi.kubevirt.io",
    plural="volumeimportsources",
    versions=(Version("v1beta1"),),
    status=False,
    validate=_import_faults,
)
class VolumeImportSource(Kind, kw_only=True):
    """Fills every claim that names it with what it imports."""

    RULES = (
        Rule(
            kept_but_stages("source", "contentType", "preallocation", "targetClaim"),
            "Cannot update VolumeImportSource Spec: only the checkpoints of a multi-stage import may change",
            ".spec",
        ),
        Rule(
            f"!({STAGED}) || (has(self.spec.targetClaim) && size(self.spec.targetClaim) > 0)",
            "a multi-stage import fills one claim, whose name is expected",
            ".spec.targetClaim",
        ),
        _SHORT_NAME,
    )

    spec: ImportSourceSpec
    status: Opt[NoStatus] = UNSET


class UploadSourceSpec(Shape):
    """What is going to be sent."""

    content_type: Opt[ContentType] = UNSET
    preallocation: Opt[Preallocation] = UNSET


@kind(group="cdi.kubevirt.io", plural="volumeuploadsources", versions=(Version("v1beta1"),), status=False)
class VolumeUploadSource(Kind, kw_only=True):
    """Lets the content of every claim that names it be uploaded."""

    RULES = (
        Rule("self.spec == oldSelf.spec", "Cannot update VolumeUploadSource Spec: make another one", ".spec"),
        _SHORT_NAME,
    )

    spec: UploadSourceSpec
    status: Opt[NoStatus] = UNSET


class CloneSourceSpec(Shape, kw_only=True):
    """What is cloned."""

    RULES = (
        Rule(
            "self.source.kind == 'PersistentVolumeClaim' ? "
            "!has(self.source.apiGroup) || self.source.apiGroup == '' : "
            "self.source.kind == 'VolumeSnapshot' && has(self.source.apiGroup) && "
            "self.source.apiGroup == 'snapshot.storage.k8s.io'",
            "a PersistentVolumeClaim is expected, or a VolumeSnapshot with apiGroup: snapshot.storage.k8s.io",
            ".source",
        ),
    )

    source: Annotated[TypedLocalReference, Field("A PersistentVolumeClaim or VolumeSnapshot, in the same namespace.")]
    preallocation: Opt[Preallocation] = UNSET
    priority_class_name: Annotated[Opt[str], Field("The priority of the pods that do the work.")] = UNSET


@kind(group="cdi.kubevirt.io", plural="volumeclonesources", versions=(Version("v1beta1"),), status=False)
class VolumeCloneSource(Kind, kw_only=True):
    """Fills every claim that names it with a copy of a claim or snapshot."""

    RULES = (
        Rule("self.spec == oldSelf.spec", "Cannot update VolumeCloneSource Spec: make another one", ".spec"),
        _SHORT_NAME,
    )

    spec: CloneSourceSpec
