"""VM: the one kind of the oldest API, now a thin one whose controller makes a VirtualMachineInstance."""

from ingot.api.kubevirt import admission, faults
from ingot.api.kubevirt.alpha import first_alpha
from ingot.api.kubevirt.instance import ALPHA_INSTANCE, INSTANCE_COLUMNS, InstanceSpec
from ingot.api.kubevirt.instance_status import InstanceStatus
from ingot.api.kubevirt.upgrade import upgrade_instance
from ingot.api.machinery import UNSET, Kind, Opt, Version, kind


@kind(
    group="kubevirt.io",
    name="VM",
    # VirtualMachine has the short names vm and vms; a plural "vms" would be served for both.
    plural="classicvms",
    singular="classicvm",
    categories=("all",),
    versions=(Version("v1"), first_alpha(ALPHA_INSTANCE, upgrade_instance)),
    columns=INSTANCE_COLUMNS,
    mutate=admission.instance,
    validate=faults.instance,
)
class ClassicVM(Kind):
    """A running machine under the name that it had first. Its VirtualMachineInstance has the same name and spec."""

    spec: InstanceSpec
    status: Opt[InstanceStatus] = UNSET
