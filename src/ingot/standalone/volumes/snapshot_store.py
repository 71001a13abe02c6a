"""Snapshots that claims are filled from: ready in the words of their objects, and there on disk."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import SNAPSHOTS
from ingot.kube.cache import Cache, Key
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.records import Record
from ingot.standalone.volumes.snapshot_words import DRIVER, belongs_to, handle_of
from ingot.standalone.volumes.words import source_of


def waiting_for(snapshot: Object, claims: Cache) -> list[Object]:
    """The claims that are to be filled from the snapshot, and have no volume yet."""
    wanted = {"kind": SNAPSHOTS.kind, "name": name_of(snapshot), "apiGroup": SNAPSHOTS.group}
    found = []
    for claim in claims.list(namespace_of(snapshot)):
        source = source_of(claim)
        if source is not None and wanted.items() <= source.items() and not claim["spec"].get("volumeName"):
            found.append(claim)
    return found


class Unready(Exception):
    """The snapshot cannot be copied as things are; the message goes on after its name."""


class SnapshotStore:
    """The snapshots of the volumes on this node."""

    def __init__(self, snapshots: Cache, contents: Cache, files: LocalVolumes) -> None:
        self._snapshots = snapshots
        self._contents = contents
        self.files = files

    def ready(self, key: Key) -> Record:
        """The record of the VolumeSnapshot's files. Raises Unready."""
        snapshot = self._snapshots.get(key)
        if snapshot is None:
            raise Unready("does not exist")
        status = snapshot.get("status") or {}
        content = self._contents.get(Key("", status.get("boundVolumeSnapshotContentName", "")))
        if not status.get("readyToUse") or content is None or not belongs_to(content, snapshot):
            raise Unready("is not ready to use yet")
        if content["spec"]["driver"] != DRIVER:
            raise Unready(f"is of driver {content['spec']['driver']}, and cannot be copied into a local volume")
        handle = handle_of(content)
        record = self.files.record(handle)
        if record is None or not self.files.has(handle):
            raise Unready(f"has lost its files, {self.files.directory / handle}")
        return record
