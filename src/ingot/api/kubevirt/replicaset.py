"""VirtualMachineInstanceReplicaSet: a number of equal machines."""

from typing import Annotated

from ingot.api.kubevirt import faults
from ingot.api.kubevirt.alpha import LATER_ALPHA
from ingot.api.kubevirt.instance import InstanceTemplate
from ingot.api.kubevirt.instance_status import Conditions
from ingot.api.machinery import UNSET, Column, Field, Int32, Kind, Opt, Rule, Scale, Shape, Version, kind
from ingot.api.machinery.meta import LabelSelector


class ReplicaSetSpec(Shape):
    """How many machines there are to be, and what they are made from."""

    RULES = (Rule("self.selector == oldSelf.selector", "selector cannot be changed", ".selector"),)

    selector: Annotated[LabelSelector, Field("The instances that belong to it; the template's labels fit.")]
    template: InstanceTemplate
    replicas: Annotated[Int32, Field("How many instances there are to be.", minimum=0)] = 1
    paused: Annotated[Opt[bool], Field("Whether it is left alone.")] = UNSET


class ReplicaSetStatus(Shape):
    """How many machines there are."""

    replicas: Annotated[Opt[Int32], Field("Instances that there are.")] = UNSET
    ready_replicas: Annotated[Opt[Int32], Field("Instances that are ready.")] = UNSET
    label_selector: Annotated[Opt[str], Field("The selector as text, for the scale subresource.")] = UNSET
    conditions: Conditions = UNSET


@kind(
    group="kubevirt.io",
    plural="virtualmachineinstancereplicasets",
    short_names=("vmirs", "vmirss"),
    categories=("all",),
    versions=(Version("v1"), LATER_ALPHA),
    columns=(
        Column("Desired", ".spec.replicas", "integer", "Number of desired VirtualMachineInstances"),
        Column("Current", ".status.replicas", "integer", "Number of VirtualMachineInstances that live"),
        Column("Ready", ".status.readyReplicas", "integer", "Number of VirtualMachineInstances that are ready"),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ),
    scale=Scale(),
    validate=faults.replica_set,
)
class VirtualMachineInstanceReplicaSet(Kind):
    """Equal machines without a memory: when one ends, another takes its place."""

    spec: ReplicaSetSpec
    status: Opt[ReplicaSetStatus] = UNSET
