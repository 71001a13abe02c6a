"""The kinds of kubevirt.io: virtual machines and their disks."""

from ingot.api.kubevirt.classic import ClassicVM
from ingot.api.kubevirt.instance import VirtualMachineInstance
from ingot.api.kubevirt.machine import VirtualMachine
from ingot.api.kubevirt.replicaset import VirtualMachineInstanceReplicaSet

__all__ = ["ClassicVM", "VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"]
