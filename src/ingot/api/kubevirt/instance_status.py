"""What is known of a running machine."""

from typing import Annotated, Literal

import msgspec

from ingot.api.kubevirt.domain import Machine
from ingot.api.machinery import UNSET, Field, Int32, Opt, Quantity, Raw, Shape, Time
from ingot.api.machinery.meta import Condition

Phase = Literal[
    "",
    "Pending",
    "Scheduling",
    "Scheduled",
    "Running",
    "Succeeded",
    "Failed",
    "WaitingForSync",
    "Unknown",
]

Conditions = Annotated[Opt[list[Condition]], Field("What is observed.", list_type="map", keys=("type",))]


class PhaseTransition(Shape):
    """When a phase began."""

    phase: Annotated[Opt[str], Field("The phase.")] = UNSET
    phase_transition_timestamp: Annotated[Opt[Time | None], Field("When it began.")] = UNSET


class InterfaceStatus(Shape):
    """A network card as the guest or the hypervisor has it."""

    name: Annotated[Opt[str], Field("The interface's name in the spec.")] = UNSET
    ip_address: Annotated[Opt[str], Field("Its first address.")] = UNSET
    ip_addresses: Annotated[Opt[list[str]], Field("All of its addresses.")] = UNSET
    mac: Annotated[Opt[str], Field("Its hardware address.")] = UNSET
    interface_name: Annotated[Opt[str], Field("Its name in the guest.")] = UNSET
    pod_interface_name: Annotated[Opt[str], Field("Its name in the pod.")] = UNSET
    info_source: Annotated[Opt[str], Field("Who says so: domain, guest-agent, multus-status.")] = UNSET
    queue_count: Annotated[Opt[Int32], Field("Its queues.")] = UNSET
    link_state: Annotated[Opt[str], Field("up or down.")] = UNSET


class GuestOs(Shape):
    """The guest's operating system, as its agent says."""

    id: Opt[str] = UNSET
    name: Opt[str] = UNSET
    version: Opt[str] = UNSET
    version_id: Opt[str] = UNSET
    pretty_name: Opt[str] = UNSET
    kernel_release: Opt[str] = UNSET
    kernel_version: Opt[str] = UNSET
    machine: Opt[str] = UNSET


class ClaimInfo(Shape):
    """What is known of a volume's claim."""

    claim_name: Annotated[Opt[str], Field("Its name.")] = UNSET
    access_modes: Annotated[Opt[list[str]], Field("Its access modes.", list_type="atomic")] = UNSET
    volume_mode: Annotated[Opt[str], Field("Block or Filesystem.")] = UNSET
    capacity: Annotated[Opt[dict[str, Quantity]], Field("What it has.")] = UNSET
    requests: Annotated[Opt[dict[str, Quantity]], Field("What it asked for.")] = UNSET
    preallocated: Annotated[Opt[bool], Field("Whether its space is set aside.")] = UNSET
    filesystem_overhead: Annotated[Opt[str], Field("The part that its filesystem takes.")] = UNSET


class VolumeStatus(Shape):
    """A volume as the machine has it."""

    name: Annotated[str, Field("The volume's name.")]
    target: Annotated[str, Field("The device's name, such as vda.")] = ""
    phase: Annotated[Opt[str], Field("Such as Pending, Bound or Ready.")] = UNSET
    reason: Annotated[Opt[str], Field("Why, in one word.")] = UNSET
    message: Annotated[Opt[str], Field("Why, for a person.")] = UNSET
    size: Annotated[Opt[int], Field("Its size in bytes.")] = UNSET
    progress: Annotated[Opt[str], Field("How far a copy or a download is.")] = UNSET
    persistent_volume_claim_info: Opt[ClaimInfo] = UNSET
    hotplug_volume: Annotated[Opt[Raw], Field("The pod that attaches it.")] = UNSET
    memory_dump_volume: Annotated[Opt[Raw], Field("The memory dump in it.")] = UNSET
    container_disk_volume: Annotated[Opt[Raw], Field("The image that it is from.")] = UNSET


class CpuTopology(Shape):
    """The CPUs that the guest has."""

    cores: Opt[Int32] = UNSET
    sockets: Opt[Int32] = UNSET
    threads: Opt[Int32] = UNSET


class MemoryStatus(Shape):
    """The memory that the guest has."""

    guest_at_boot: Opt[Quantity] = UNSET
    guest_current: Opt[Quantity] = UNSET
    guest_requested: Opt[Quantity] = UNSET


class InstanceStatus(Shape):
    """What is known of a running machine."""

    phase: Annotated[Opt[Phase], Field("Where it is in its life.")] = UNSET
    reason: Annotated[Opt[str], Field("Why, in one word.")] = UNSET
    node_name: Annotated[Opt[str], Field("The node that it runs on.")] = UNSET
    conditions: Conditions = UNSET
    phase_transition_timestamps: Annotated[
        Opt[list[PhaseTransition]], Field("When each phase began.", list_type="atomic")
    ] = UNSET
    interfaces: Annotated[Opt[list[InterfaceStatus]], Field("Its network cards.")] = UNSET
    volume_status: Annotated[Opt[list[VolumeStatus]], Field("Its volumes.", list_type="atomic")] = UNSET
    active_pods: Annotated[Opt[dict[str, str]], Field("The node of each of its pods, by the pod's UID.")] = UNSET
    guest_os_info: Opt[GuestOs] = msgspec.field(name="guestOSInfo", default=UNSET)
    machine: Annotated[Opt[Machine], Field("The machine type that QEMU chose.")] = UNSET
    memory: Opt[MemoryStatus] = UNSET
    current_cpu_topology: Opt[CpuTopology] = msgspec.field(name="currentCPUTopology", default=UNSET)
    qos_class: Annotated[Opt[str], Field("As of a pod.")] = UNSET
    migration_state: Annotated[Opt[Raw], Field("A migration that is going on, or the last one.")] = UNSET
    migration_method: Annotated[Opt[str], Field("LiveMigration or BlockMigration.")] = UNSET
    migration_transport: Annotated[Opt[str], Field("Such as Unix.")] = UNSET
    migrated_volumes: Annotated[Opt[list[Raw]], Field("Volumes that move.", list_type="atomic")] = UNSET
    evacuation_node_name: Annotated[Opt[str], Field("The node that it is to leave.")] = UNSET
    launcher_container_image_version: Annotated[Opt[str], Field("The launcher's image.")] = UNSET
    virtual_machine_revision_name: Annotated[Opt[str], Field("The revision that it was made from.")] = UNSET
    runtime_user: Annotated[Opt[int], Field("The user that it runs as.")] = UNSET
    selinux_context: Annotated[Opt[str], Field("Its SELinux context.")] = UNSET
    fs_freeze_status: Annotated[Opt[str], Field("frozen while its filesystems are.")] = UNSET
    kernel_boot_status: Annotated[Opt[Raw], Field("The kernel that it was started with.")] = UNSET
    topology_hints: Annotated[Opt[Raw], Field("Hints for the scheduler.")] = UNSET
    vsock_cid: Annotated[Opt[int], Field("Its VSOCK address.", minimum=0, maximum=4294967295)] = msgspec.field(
        name="VSOCKCID", default=UNSET
    )
    changed_block_tracking: Annotated[Opt[Raw], Field("Whether changed blocks are recorded.")] = UNSET
