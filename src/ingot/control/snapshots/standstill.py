"""Machines that must not start: their disks are being replaced, or are to be of one moment in a snapshot (F5)."""

from ingot.api.object import Object, namespace_of
from ingot.api.resources import MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS
from ingot.control.fault import InstanceFault
from ingot.control.snapshots.content_status import was_made
from ingot.control.snapshots.source import holder_of
from ingot.control.snapshots.words import FAILED, SUCCEEDED, content_name, is_online, phase_of, restore_of
from ingot.kube.cache import Key
from ingot.kube.manager import Manager


class Standstill:
    """Looks at snapshots and their contents out of the caches, which whoever asks watches."""

    def __init__(self, manager: Manager) -> None:
        self.snapshots = manager.informer(MACHINE_SNAPSHOTS)
        self.contents = manager.informer(MACHINE_SNAPSHOT_CONTENTS)

    def check(self, machine: Object) -> None:
        """Raises InstanceFault while the machine, which does not run, must not start."""
        if restore := restore_of(machine):
            message = (
                f'VirtualMachineRestore "{restore}" is replacing the disks: the machine starts by itself after that'
            )
            raise InstanceFault("RestoreInProgress", message)
        if (holder := holder_of(machine)) and self._needs(Key(namespace_of(machine), holder)):
            message = (
                f'VirtualMachineSnapshot "{holder}" is being made of the disks: the machine starts by itself after '
                "that, and sooner when the snapshot is deleted"
            )
            raise InstanceFault("SnapshotInProgress", message)

    def _needs(self, key: Key) -> bool:
        """Whether the snapshot needs the machine to stand still: VolumeSnapshots take their time, each its own. A guest
        that ran when it was asked for may run again; full copies keep who starts off the storage by themselves."""
        snapshot = self.snapshots.cache.get(key)
        if snapshot is None or is_online(snapshot) or phase_of(snapshot) in (SUCCEEDED, FAILED):
            return False
        content = self.contents.cache.get(Key(key.namespace, content_name(snapshot)))
        return content is None or (not was_made(content) and _has_volume_snapshots(content))


def _has_volume_snapshots(content: Object) -> bool:
    return any(each.get("volumeSnapshotName") for each in content["spec"].get("volumeBackups") or ())
