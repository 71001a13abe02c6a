"""How a claim is cloned: by the storage itself, by way of a snapshot, or by a pod that copies; and why so (G10)."""

from dataclasses import dataclass
from enum import StrEnum

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.control.snapshots.kinds import SnapshotKinds
from ingot.control.volumes.claim import is_local, mode_of
from ingot.control.volumes.filler import Hindered, Waiting
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.taken import Taken

_PREALLOCATED = "preallocation is asked for, and neither shared blocks nor snapshots put room aside"
# How soon what is not known yet is asked again.
_SOON_SECONDS = 0.2


class Strategy(StrEnum):
    """CDI's words, as in the annotation CLONE_TYPE."""

    CSI_CLONE = "csi-clone"
    SNAPSHOT = "snapshot"
    COPY = "copy"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is done, why, and for a snapshot the VolumeSnapshotClass that it has."""

    strategy: Strategy
    why: str
    snapshot_class: str = ""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the choice hangs on: classes of target and origin, the node that the origin is on; None where unknown.
    `preallocated`: whether the target is to have no holes."""

    target: Object
    origin: Object
    target_class: Object | None
    origin_class: Object | None
    node: Object | None
    preallocated: bool = False


def choose(seen: Circumstances, kinds: SnapshotKinds) -> Choice:
    """The way that is the fastest of those that are possible, unless the StorageClass names one.

    Raises Hindered while it cannot be told.
    """
    if why := _different(seen):
        return Choice(Strategy.COPY, why)
    if seen.preallocated:
        return Choice(Strategy.COPY, _PREALLOCATED)
    assert seen.target_class is not None
    shown = f'StorageClass "{name_of(seen.target_class)}"'
    asked = annotation(seen.target_class, names.CLONE_STRATEGY)
    if asked in (Strategy.COPY, Strategy.CSI_CLONE):
        return Choice(Strategy(asked), f"{shown} asks for it with {names.CLONE_STRATEGY}")
    if is_local(seen.target_class) and asked != Strategy.SNAPSHOT:
        return _local(seen.node)
    snapshot_class, missing = kinds.class_for(seen.target_class["provisioner"])
    if asked == Strategy.SNAPSHOT and not snapshot_class:
        return Choice(Strategy.COPY, f"{shown} asks for {asked}, but {missing}")
    if asked == Strategy.SNAPSHOT:
        return Choice(Strategy.SNAPSHOT, f"{shown} asks for it with {names.CLONE_STRATEGY}", snapshot_class)
    if snapshot_class:
        return Choice(Strategy.SNAPSHOT, f'there is VolumeSnapshotClass "{snapshot_class}"', snapshot_class)
    return Choice(Strategy.COPY, missing)


def choose_in_use(seen: Circumstances, kinds: SnapshotKinds, writer: str) -> Choice:
    """For what storage is to clone by itself while somebody writes to it: drivers need not make that as of one moment,
    as they do snapshots."""
    assert seen.target_class is not None
    asked = f'StorageClass "{name_of(seen.target_class)}" asks for {Strategy.CSI_CLONE} with {names.CLONE_STRATEGY}'
    why = f"{asked}, which need not be of one moment while the source is in use by {writer}"
    snapshot_class, missing = kinds.class_for(seen.target_class["provisioner"])
    if snapshot_class:
        return Choice(Strategy.SNAPSHOT, f'{why}; there is VolumeSnapshotClass "{snapshot_class}"', snapshot_class)
    return Choice(Strategy.COPY, f"{why}, and {missing}")


def choose_of_snapshot(target: Object, target_class: Object | None, taken: Taken, *, preallocated: bool) -> Choice:
    """The storage makes the clone of its own snapshot. What it cannot make the target of, it restores as it was, and so
    it does for a target that is to have no holes: that is copied."""
    mode = mode_of(target["spec"])
    if target_class is None:
        why = "the claim has no StorageClass"
    else:
        why = _mismatch((taken.driver, target_class["provisioner"]), (taken.mode or mode, mode))
    if why or preallocated:
        return Choice(Strategy.COPY, why or _PREALLOCATED)
    return Choice(Strategy.SNAPSHOT, "the source is a VolumeSnapshot")


def _local(node: Object | None) -> Choice:
    if node is None:
        return Choice(Strategy.COPY, "it is not known which node the source is on")
    shown = f'the local volumes of node "{name_of(node)}"'
    if not annotation(node, names.SHARES_BLOCKS):
        raise Hindered(Waiting("StrategyNotKnown", f"{shown}: it is not known yet if they share blocks", _SOON_SECONDS))
    if annotation(node, names.SHARES_BLOCKS) == "true":
        return Choice(Strategy.CSI_CLONE, f"{shown} share blocks")
    return Choice(Strategy.COPY, f"{shown} cannot share blocks: their filesystem has no reflinks, as XFS and btrfs do")


def _different(seen: Circumstances) -> str:
    """Why the storage cannot clone the one into the other, "" where it could."""
    if seen.target_class is None or seen.origin_class is None:
        return "one of the claims has no StorageClass"
    provisioners = seen.origin_class["provisioner"], seen.target_class["provisioner"]
    return _mismatch(provisioners, (mode_of(seen.origin["spec"]), mode_of(seen.target["spec"])))


def _mismatch(provisioners: tuple[str, str], modes: tuple[str, str]) -> str:
    """In what the source, the first of each, and the target differ; "" where they do not."""
    if provisioners[0] != provisioners[1]:
        return f"the source is provisioned by {provisioners[0]}, the target by {provisioners[1]}"
    return f"volumeMode of the source is {modes[0]}, of the target {modes[1]}" if modes[0] != modes[1] else ""
