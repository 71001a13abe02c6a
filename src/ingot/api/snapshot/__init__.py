"""The kinds of snapshot.kubevirt.io: all disks of a machine at one moment, and the way back to it (F5)."""

from ingot.api.snapshot.content import VirtualMachineSnapshotContent
from ingot.api.snapshot.restore import VirtualMachineRestore
from ingot.api.snapshot.snapshot import VirtualMachineSnapshot

__all__ = ["VirtualMachineRestore", "VirtualMachineSnapshot", "VirtualMachineSnapshotContent"]
