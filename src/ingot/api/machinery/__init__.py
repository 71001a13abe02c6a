"""How kinds are written: Python structs, from which schemas, CRDs, defaults and the reference page are made.

@kind(group="kubevirt.io", plural="virtualmachines", short_names=("vm", "vms"), versions=(Version("v1"),))
class VirtualMachine(Kind):
    # … its docstring is the description of the kind

    spec: VirtualMachineSpec
    status: Opt[VirtualMachineStatus] = UNSET
"""

from ingot.api.machinery.field import UNSET, Field, Opt, Rule, UnsetType
from ingot.api.machinery.kind import (
    KINDS,
    Column,
    Kind,
    KindInfo,
    Scale,
    Version,
    kind,
    resource_of,
)
from ingot.api.machinery.scalar import (
    Duration,
    Embedded,
    Int32,
    IntOrString,
    Label,
    Quantity,
    Raw,
    Subdomain,
    Time,
)
from ingot.api.machinery.shape import Shape

__all__ = [
    "KINDS",
    "UNSET",
    "Column",
    "Duration",
    "Embedded",
    "Field",
    "Int32",
    "IntOrString",
    "Kind",
    "KindInfo",
    "Label",
    "Opt",
    "Quantity",
    "Raw",
    "Rule",
    "Scale",
    "Shape",
    "Subdomain",
    "Time",
    "UnsetType",
    "Version",
    "kind",
    "resource_of",
]
