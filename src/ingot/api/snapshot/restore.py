"""VirtualMachineRestore: takes a machine back to a snapshot, or makes another one from it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Rule, Shape, Time, Version, kind
from ingot.api.object import Object
from ingot.api.snapshot.parts import GROUP, UNCHANGED, VERSION, Conditions, MachineReference
from ingot.api.snapshot.patch_faults import patch_faults
from ingot.api.status import Cause

ReadinessPolicy = Literal["StopTarget", "WaitGracePeriod", "FailImmediate", "WaitEventually"]


class VolumeOverride(Shape, kw_only=True):
    """What is different about one restored volume."""

    RULES = (
        Rule(
            "has(self.restoreName) || has(self.labels) || has(self.annotations)",
            "at least one of restoreName, labels and annotations is expected",
            reason="FieldValueRequired",
        ),
    )

    volume_name: Annotated[str, Field("Its name in the machine.", min_length=1)]
    restore_name: Annotated[Opt[str], Field("The name of the claim that is made for it.")] = UNSET
    labels: Annotated[Opt[dict[str, str]], Field("Labels that the claim gets.")] = UNSET
    annotations: Annotated[Opt[dict[str, str]], Field("Annotations that the claim gets.")] = UNSET


class RestoreSpec(Shape, kw_only=True):
    """Which snapshot, and which machine."""

    target: MachineReference
    virtual_machine_snapshot_name: Annotated[str, Field("The snapshot, in the same namespace.", min_length=1)]
    target_readiness_policy: Annotated[
        ReadinessPolicy,
        Field(
            "What happens while the machine still runs. StopTarget: it is stopped. WaitGracePeriod: the restore fails "
            "after five minutes. FailImmediate: at once. WaitEventually: it waits for as long as it takes."
        ),
    ] = "WaitGracePeriod"
    volume_restore_policy: Annotated[
        Opt[Literal["RandomizeNames", "InPlace", "PrefixTargetName"]],
        Field(
            "What the claims are called. RandomizeNames, the default: new names. InPlace: the old ones, whose claims "
            "are deleted; only for the machine that the snapshot was made of. PrefixTargetName: the machine's and the "
            "volume's."
        ),
    ] = UNSET
    volume_ownership_policy: Annotated[
        Opt[Literal["Vm", "None"]], Field("Whether the claims go with the machine; Vm if absent.")
    ] = UNSET
    volume_restore_overrides: Annotated[
        Opt[list[VolumeOverride]], Field("What is different about single volumes.", list_type="atomic")
    ] = UNSET
    patches: Annotated[
        Opt[list[str]],
        Field(
            "Changes to a machine that the restore makes anew, each a JSON patch of one operation below /spec/, "
            "/metadata/labels/ or /metadata/annotations/. One that is there already gets none of them.",
            list_type="atomic",
        ),
    ] = UNSET


class VolumeRestore(Shape, kw_only=True):
    """One volume that is restored."""

    volume_name: Annotated[str, Field("Its name in the machine.")]
    claim_name: Annotated[str, Field("The claim that is made.")] = msgspec.field(name="persistentVolumeClaim")
    volume_snapshot_name: Annotated[str, Field("The VolumeSnapshot that it is made from; empty for a full copy.")]
    saved_claim_name: Annotated[
        Opt[str], Field("The PersistentVolumeClaim with the full copy that it is cloned from.")
    ] = UNSET
    data_volume_name: Annotated[Opt[str], Field("The DataVolume that is made for it.")] = UNSET
    replaced_claim_uid: Annotated[
        Opt[str], Field("The uid of the claim of the same name that is deleted, where it is restored in place.")
    ] = msgspec.field(default=UNSET, name="replacedClaimUID")


class RestoreStatus(Shape):
    """How far the restore has come."""

    restores: Annotated[Opt[list[VolumeRestore]], Field("The volumes.", list_type="atomic")] = UNSET
    restore_time: Annotated[Opt[Time | None], Field("When it was complete.")] = UNSET
    deleted_data_volumes: Annotated[
        Opt[list[str]], Field("DataVolumes of the machine that are gone.", list_type="set")
    ] = UNSET
    complete: Annotated[Opt[bool], Field("Whether it is complete.")] = UNSET
    conditions: Opt[Conditions] = UNSET


def _validate(new: Object, _old: Object | None) -> list[Cause]:
    spec = new["spec"]
    return [
        *patch_faults(spec.get("patches", []), "spec.patches"),
        *_twice(spec.get("volumeRestoreOverrides", []), "spec.volumeRestoreOverrides"),
    ]


def _twice(overrides: Sequence[Object], path: str) -> Iterator[Cause]:
    """One volume is said one thing of, and has a claim of its own."""
    for field in ("volumeName", "restoreName"):
        known: set[str] = set()
        for index, override in enumerate(overrides):
            if (name := override.get(field)) in known:
                yield Cause(f"{path}[{index}].{field}", f'Duplicate value: "{name}"', "FieldValueDuplicate")
            known |= {name} if name else set()


@kind(
    group=GROUP,
    plural="virtualmachinerestores",
    short_names=("vmrestore", "vmrestores"),
    categories=("all",),
    versions=(Version(VERSION),),
    columns=(
        Column("TargetKind", ".spec.target.kind"),
        Column("TargetName", ".spec.target.name"),
        Column("Complete", ".status.complete", "boolean"),
        Column("RestoreTime", ".status.restoreTime", "date"),
        Column("Error", '.status.conditions[?(@.type=="Failure")].message'),
    ),
    validate=_validate,
)
class VirtualMachineRestore(Kind, kw_only=True):
    """Takes a machine, which must not run, back to a snapshot."""

    RULES = (UNCHANGED,)

    spec: RestoreSpec
    status: Opt[RestoreStatus] = UNSET
