"""VirtualMachineInstance: a machine that runs."""

from typing import Annotated, Any, Literal

from ingot.api.kubevirt import admission, faults
from ingot.api.kubevirt.alpha import ALPHA_DISKS, LATER_ALPHA, first_alpha
from ingot.api.kubevirt.domain import DomainSpec
from ingot.api.kubevirt.guest import AccessCredential, Probe, ResourceClaim, UtilityVolume
from ingot.api.kubevirt.instance_status import InstanceStatus
from ingot.api.kubevirt.network import Network
from ingot.api.kubevirt.upgrade import upgrade_instance
from ingot.api.kubevirt.volume import Volume
from ingot.api.machinery import UNSET, Column, Field, Kind, Opt, Raw, Shape, Version, kind
from ingot.api.machinery.meta import TemplateMeta

READY = ".status.conditions[?(@.type=='Ready')].status"


class InstanceSpec(Shape):
    """What a running machine is to be: its hardware, its volumes, and where it may run."""

    domain: DomainSpec
    volumes: Annotated[
        Opt[list[Volume]],
        Field("The volumes that its disks refer to.", list_type="map", keys=("name",), max_items=256),
    ] = UNSET
    networks: Annotated[
        Opt[list[Network]],
        Field("The networks that its interfaces refer to.", list_type="map", keys=("name",), max_items=256),
    ] = UNSET
    access_credentials: Annotated[
        Opt[list[AccessCredential]],
        Field("SSH keys and passwords for the guest.", list_type="atomic", max_items=256),
    ] = UNSET
    hostname: Annotated[Opt[str], Field("The guest's host name; the machine's own unless told.")] = UNSET
    subdomain: Annotated[Opt[str], Field("The guest's domain in the cluster's DNS.")] = UNSET
    dns_policy: Annotated[Opt[str], Field("As in a pod.")] = UNSET
    dns_config: Annotated[Opt[Raw], Field("As in a pod.")] = UNSET
    node_selector: Annotated[Opt[dict[str, str]], Field("Labels of the nodes that it may run on.")] = UNSET
    affinity: Annotated[Opt[Raw], Field("As in a pod.")] = UNSET
    tolerations: Annotated[Opt[list[Raw]], Field("As in a pod.")] = UNSET
    topology_spread_constraints: Annotated[Opt[list[Raw]], Field("As in a pod.")] = UNSET
    scheduler_name: Annotated[Opt[str], Field("As in a pod.")] = UNSET
    priority_class_name: Annotated[Opt[str], Field("As in a pod.")] = UNSET
    service_account_name: Annotated[Opt[str], Field("The ServiceAccount of its pod.")] = UNSET
    eviction_strategy: Annotated[
        Opt[Literal["None", "LiveMigrate", "LiveMigrateIfPossible", "External"]],
        Field("What happens when its node is drained."),
    ] = UNSET
    start_strategy: Annotated[Opt[Literal["Paused"]], Field("Paused, to start without running.")] = UNSET
    termination_grace_period_seconds: Annotated[Opt[int], Field("How long the guest has to shut down.", minimum=0)] = (
        UNSET
    )
    liveness_probe: Opt[Probe] = UNSET
    readiness_probe: Opt[Probe] = UNSET
    architecture: Annotated[Opt[str], Field("The guest's architecture; the node's unless told.")] = UNSET
    resource_claims: Annotated[
        Opt[list[ResourceClaim]],
        Field("Claims of devices.", list_type="map", keys=("name",), max_items=256),
    ] = UNSET
    utility_volumes: Annotated[
        Opt[list[UtilityVolume]],
        Field("Claims that no disk refers to.", list_type="map", keys=("name",), max_items=256),
    ] = UNSET


class InstanceTemplate(Shape):
    """What instances are made from."""

    spec: InstanceSpec
    metadata: Annotated[Opt[TemplateMeta | None], Field("Labels and annotations of the instances.")] = UNSET


INSTANCE_COLUMNS = (
    Column("Age", ".metadata.creationTimestamp", "date"),
    Column("Phase", ".status.phase"),
    Column("IP", ".status.interfaces[0].ipAddress"),
    Column("NodeName", ".status.nodeName"),
    Column("Ready", READY),
    Column("Live-Migratable", ".status.conditions[?(@.type=='LiveMigratable')].status", priority=1),
    Column("Paused", ".status.conditions[?(@.type=='Paused')].status", priority=1),
)

# The oldest API had one list of disks, each with its own source.
ALPHA_INSTANCE: dict[str, Any] = {"spec.domain.devices.disks": ALPHA_DISKS}


@kind(
    group="kubevirt.io",
    plural="virtualmachineinstances",
    short_names=("vmi", "vmis"),
    categories=("all",),
    versions=(Version("v1"), LATER_ALPHA, first_alpha(ALPHA_INSTANCE, upgrade_instance)),
    columns=INSTANCE_COLUMNS,
    mutate=admission.instance,
    validate=faults.instance,
)
class VirtualMachineInstance(Kind):
    """A machine that runs, or is about to. It ends with its guest; a VirtualMachine makes a new one."""

    spec: InstanceSpec
    status: Opt[InstanceStatus] = UNSET
