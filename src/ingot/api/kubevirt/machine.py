"""VirtualMachine: a machine that lives on when it is not running."""

from typing import Annotated, Any, Literal

import msgspec

from ingot.api.cdi.datavolume import DataVolumeSpec
from ingot.api.kubevirt import faults
from ingot.api.kubevirt.alpha import ALPHA_DISKS, LATER_ALPHA, first_alpha, flat_machine
from ingot.api.kubevirt.instance import READY, InstanceTemplate
from ingot.api.kubevirt.instance_status import Conditions
from ingot.api.kubevirt.upgrade import upgrade_machine
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Raw, Rule, Shape, Time, Version, kind
from ingot.api.machinery.meta import TemplateMeta

RunStrategy = Literal["Always", "Halted", "Manual", "RerunOnFailure", "Once", "WaitAsReceiver"]


class DataVolumeTemplate(Shape):
    """A DataVolume that is made for the machine and goes with it."""

    metadata: TemplateMeta
    spec: DataVolumeSpec
    api_version: Annotated[Opt[str], Field("cdi.kubevirt.io/v1beta1.")] = UNSET
    kind: Annotated[Opt[str], Field("DataVolume.")] = UNSET
    status: Annotated[Opt[Raw], Field("Ignored.")] = UNSET


class Matcher(Shape):
    """A set of settings that fill what the template leaves open."""

    name: Annotated[Opt[str], Field("Its name.")] = UNSET
    kind: Annotated[Opt[str], Field("Its kind.")] = UNSET
    revision_name: Annotated[Opt[str], Field("The revision that was used.")] = UNSET
    infer_from_volume: Annotated[Opt[str], Field("The volume whose labels name it.")] = UNSET
    infer_from_volume_failure_policy: Annotated[
        Opt[Literal["Reject", "Ignore"]], Field("What happens when they do not.")
    ] = UNSET


class MachineSpec(Shape):
    """What a machine is to be, and whether it is to run."""

    RULES = (
        Rule(
            "has(self.running) != has(self.runStrategy)",
            "exactly one of running and runStrategy is needed",
            reason="FieldValueInvalid",
        ),
    )

    template: InstanceTemplate
    run_strategy: Annotated[
        Opt[RunStrategy],
        Field(
            "When the machine runs. Always: it is started again whenever it stops. RerunOnFailure: when it failed. "
            "Once: never again. Manual: when asked. Halted: not at all."
        ),
    ] = UNSET
    running: Annotated[Opt[bool], Field("An older way to say runStrategy Always or Halted.")] = UNSET
    data_volume_templates: Annotated[
        Opt[list[DataVolumeTemplate]], Field("DataVolumes that go with the machine.", max_items=256)
    ] = UNSET
    instancetype: Annotated[Opt[Matcher], Field("An instance type.")] = UNSET
    preference: Annotated[Opt[Matcher], Field("A preference.")] = UNSET
    update_volumes_strategy: Annotated[
        Opt[Literal["Migration", "Replacement"]], Field("What a change of volumes does.")
    ] = UNSET


class StartFailure(Shape):
    """Starts that failed, one after the other."""

    consecutive_fail_count: Annotated[Opt[int], Field("How many.")] = UNSET
    last_failed_vmi_uid: Annotated[Opt[str], Field("The last instance.")] = msgspec.field(
        name="lastFailedVMIUID", default=UNSET
    )
    retry_after_timestamp: Annotated[Opt[Time | None], Field("When it is tried again.")] = UNSET


class VolumeSnapshotStatus(Shape):
    """Whether a volume can have snapshots."""

    name: Annotated[str, Field("The volume.")]
    enabled: Annotated[bool, Field("Whether it can.")] = False
    reason: Annotated[Opt[str], Field("Why not, or why as a full copy.")] = UNSET


class StateChangeRequest(Shape):
    """A start or stop that was asked for."""

    action: Annotated[Literal["Start", "Stop"], Field("What was asked for.")]
    data: Annotated[Opt[dict[str, str]], Field("Details.")] = UNSET
    uid: Annotated[Opt[str], Field("The instance that it is for.")] = UNSET


class MachineStatus(Shape):
    """What is known of a machine."""

    printable_status: Annotated[Opt[str], Field("Its state in one word, such as Stopped or Running.")] = UNSET
    created: Annotated[Opt[bool], Field("Whether it has an instance.")] = UNSET
    ready: Annotated[Opt[bool], Field("Whether that instance is ready.")] = UNSET
    conditions: Conditions = UNSET
    run_strategy: Annotated[Opt[str], Field("The strategy that was last followed.")] = UNSET
    observed_generation: Annotated[Opt[int], Field("The generation of its instance.")] = UNSET
    desired_generation: Annotated[Opt[int], Field("The generation that it should have.")] = UNSET
    start_failure: Opt[StartFailure | None] = UNSET
    state_change_requests: Annotated[
        Opt[list[StateChangeRequest]], Field("Starts and stops that were asked for.", list_type="atomic")
    ] = UNSET
    volume_requests: Annotated[Opt[list[Raw]], Field("Volumes that are to come or go.", list_type="atomic")] = UNSET
    volume_snapshot_statuses: Annotated[
        Opt[list[VolumeSnapshotStatus]], Field("Which volumes can have snapshots.", list_type="atomic")
    ] = UNSET
    volume_update_state: Annotated[Opt[Raw], Field("A change of volumes that is going on.")] = UNSET
    snapshot_in_progress: Annotated[Opt[str], Field("The snapshot that is being made.")] = UNSET
    restore_in_progress: Annotated[Opt[str], Field("The restore that is going on.")] = UNSET
    memory_dump_request: Annotated[Opt[Raw | None], Field("A memory dump that was asked for.")] = UNSET
    instancetype_ref: Annotated[Opt[Raw], Field("The instance type that was used.")] = UNSET
    preference_ref: Annotated[Opt[Raw], Field("The preference that was used.")] = UNSET


ALPHA_MACHINE: dict[str, Any] = {
    "spec": flat_machine,
    "spec.domain.devices.disks": ALPHA_DISKS,
    "spec.template.spec.domain.devices.disks": ALPHA_DISKS,
}


@kind(
    group="kubevirt.io",
    plural="virtualmachines",
    short_names=("vm", "vms"),
    categories=("all",),
    versions=(Version("v1"), LATER_ALPHA, first_alpha(ALPHA_MACHINE, upgrade_machine)),
    columns=(
        Column("Age", ".metadata.creationTimestamp", "date"),
        Column("Status", ".status.printableStatus", doc="Human Readable Status"),
        Column("Ready", READY),
    ),
    validate=faults.machine,
)
class VirtualMachine(Kind):
    """A machine with its disks, running or not. While it runs there is a VirtualMachineInstance of its name."""

    spec: MachineSpec
    status: Opt[MachineStatus] = UNSET
