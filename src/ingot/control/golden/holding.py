"""What holds an import: which claims each kind of object reads, or is about to read.

Garbage collection goes by it, and so do the commands that remove versions. Snapshots count as claims of their names:
that keeps a version too long at worst.
"""

from collections.abc import Iterable
from typing import Final

from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLASSIC_VMS,
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    INSTANCES,
    MACHINES,
    PODS,
    REPLICA_SETS,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.control.volumes.marks import is_over, phase_of
from ingot.control.volumes.origin import origins
from ingot.control.volumes.source import origin_of
from ingot.control.volumes.status import FAILED, SUCCEEDED
from ingot.disks.claims import claim_name
from ingot.kube.cache import Indexer, Key


def _of_machine(machine: Object) -> Iterable[str]:
    """Of instances, and of machines and sets of them, whether they run or not."""
    spec = machine["spec"].get("template", {}).get("spec", {}) if "template" in machine["spec"] else machine["spec"]
    names = (claim_name(volume) for volume in spec.get("volumes") or ())
    return [str(Key(namespace_of(machine), name)) for name in names if name]


def of_pod(pod: Object) -> Iterable[str]:
    if is_over(pod):
        return []
    claims = (volume.get("persistentVolumeClaim") for volume in pod["spec"].get("volumes") or ())
    return [str(Key(namespace_of(pod), claim["claimName"])) for claim in claims if claim]


def _of_volume(volume: Object) -> Iterable[str]:
    """Of DataVolumes that are yet to be clones."""
    return [] if phase_of(volume) in (SUCCEEDED, FAILED) else _of_source(volume)


def _of_source(obj: Object) -> Iterable[str]:
    """Of DataSources, too, which stand for it."""
    found = origin_of(obj["spec"].get("source") or {})
    return [str(found[1])] if found else []


def _of_clone_source(source: Object) -> Iterable[str]:
    """These go when the clone is complete."""
    return [str(key) for key in origins(source)]


def _of_claim(claim: Object) -> Iterable[str]:
    """Of claims that the storage fills as clones of another, primes among them."""
    source = claim["spec"].get("dataSource") or {}
    unfilled = phase_of(claim) != "Bound" and source.get("kind") in (VOLUME_CLAIMS.kind, SNAPSHOTS.kind)
    return [str(Key(namespace_of(claim), source["name"]))] if unfilled else []


def of_snapshot(snapshot: Object) -> Iterable[str]:
    name = (snapshot["spec"].get("source") or {}).get("persistentVolumeClaimName")
    return [str(Key(namespace_of(snapshot), name))] if name else []


# What the controllers follow anyway.
FOLLOWED: Final[tuple[tuple[Resource, Indexer], ...]] = (
    (MACHINES, _of_machine),
    (INSTANCES, _of_machine),
    (REPLICA_SETS, _of_machine),
    (CLASSIC_VMS, _of_machine),
    (DATA_VOLUMES, _of_volume),
    (CLONE_SOURCES, _of_clone_source),
    (VOLUME_CLAIMS, _of_claim),
    (DATA_SOURCES, _of_source),
)
ALL: Final = (*FOLLOWED, (SNAPSHOTS, of_snapshot), (PODS, of_pod))
# Those that hold claims of other namespaces too.
FAR: Final = (DATA_VOLUMES, CLONE_SOURCES, DATA_SOURCES)
