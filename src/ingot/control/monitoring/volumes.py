"""How the filling of volumes goes, read off DataVolumes and the pods that work on them (G9)."""

from collections import Counter
from collections.abc import Iterator

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.control.monitoring.family import Family, by, counter, gauge
from ingot.control.monitoring.pending import waits_for_class
from ingot.control.volumes.marks import is_over, phase_of
from ingot.control.volumes.outcome import restarts_of
from ingot.control.volumes.source import Operation, operation_of
from ingot.control.volumes.status import FAILED, PENDING, READY, RUNNING, SUCCEEDED
from ingot.kube.manager import Manager
from ingot.kube.objects import condition

# CDI's bound: a pod that was started again more often than this is probably failing.
HIGH_RESTARTS = 3
# Transfers have figures of their own, and nobody can make us keep more of them than these.
MOST_TRANSFERS = 500
MOST_REASONS = 64
_OTHER = "Other"

_IMPORT, _CLONE, _UPLOAD = "import", "clone", "upload"
# Phases in which bytes move, or should.
_MOVING = {
    "ImportScheduled": _IMPORT,
    "ImportInProgress": _IMPORT,
    "CloneScheduled": _CLONE,
    "CloneInProgress": _CLONE,
    "CSICloneInProgress": _CLONE,
    "SnapshotForSmartCloneInProgress": _CLONE,
    "UploadReady": _UPLOAD,
}
_WORKERS = {_IMPORT: names.IMPORTER_PREFIX, _UPLOAD: names.UPLOADER_PREFIX, _CLONE: names.CLONER_PREFIX}
# Why a clone cannot begin: what it names, itself or by a DataSource, is not there.
_SOURCELESS = ("DataSourceNotReady", "CloneWithoutSource")
_LABELS = ("ns", "name", "operation")


class VolumeFigures:
    """DataVolumes by phase, bytes of those that are being filled, tries that failed, and pods that do not get on."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._volumes = manager.informer(DATA_VOLUMES)
        self._claims = manager.informer(VOLUME_CLAIMS)
        self._classes = manager.informer(STORAGE_CLASSES)
        self._pods = manager.informer(PODS, label_selector=names.COMPONENT)
        self._failures: Counter[str] = Counter()
        self._volumes.add_handler(self._changed)

    def _changed(self, old: Object | None, new: Object | None) -> None:
        # What failed while another process led is in that one's figures.
        if self._manager.leads and old is not None and new is not None and has_failed(old, new):
            reason = str((condition(new, RUNNING) or {}).get("reason") or _OTHER)
            known = reason in self._failures or len(self._failures) < MOST_REASONS
            self._failures[reason if known else _OTHER] += 1

    def families(self) -> Iterator[Family]:
        volumes = self._volumes.cache.list()
        phases = Counter(phase_of(volume) or "Pending" for volume in volumes)
        yield gauge("ingot_datavolumes", "DataVolumes by phase", ("phase",), by(phases))
        waiting = sum(self._waits(volume) for volume in volumes)
        doc = "Number of DataVolumes pending for default storage class to be configured"
        yield gauge("kubevirt_cdi_datavolume_pending", doc, rows=[((), waiting)])
        doc = "Tries to fill a volume that failed, by reason"
        yield counter("ingot_datavolume_failures", doc, ("reason",), by(self._failures))
        yield from _restarts(self._pods.cache.list())
        held_up = [volume for volume in volumes if is_held_up(volume) and not self._waits(volume)]
        moving = [volume for volume in volumes if is_moving(volume)]
        yield from _transfers([*moving, *held_up][:MOST_TRANSFERS])

    def _waits(self, volume: Object) -> bool:
        return waits_for_class(volume, self._claims.cache, self._classes.cache)


def has_failed(old: Object, new: Object) -> bool:
    """Whether a try to fill the volume has failed between the two."""
    if phase_of(new) == FAILED:
        return phase_of(old) != FAILED
    return _restarted(new) > _restarted(old) and phase_of(new) != SUCCEEDED


def _restarted(volume: Object) -> int:
    return int((volume.get("status") or {}).get("restartCount") or 0)


def is_moving(volume: Object) -> bool:
    """Whether bytes should come, now: nobody else's transfer is waited for."""
    return phase_of(volume) in _MOVING and (condition(volume, RUNNING) or {}).get("reason") != "Queued"


def is_held_up(volume: Object) -> bool:
    """Whether an import or a clone has not begun: it lacks something, which nobody may ever bring."""
    if phase_of(volume) != PENDING:
        return False
    source = volume["spec"].get("source")
    return _waits_for_source(volume) or (bool(source) and operation_of(source) is Operation.IMPORT)


def _waits_for_source(volume: Object) -> bool:
    """Whether a clone has nothing to be made from."""
    return (condition(volume, READY) or {}).get("reason") in _SOURCELESS


def _restarts(pods: list[Object]) -> Iterator[Family]:
    for operation, prefix in _WORKERS.items():
        found = (pod for pod in pods if name_of(pod).startswith(prefix) and not is_over(pod))
        high = sum(restarts_of(pod) > HIGH_RESTARTS for pod in found)
        doc = f"The number of {operation} pods with high restart count"
        yield gauge(f"kubevirt_cdi_{operation}_pods_high_restart", doc, rows=[((), high)])


def _transfers(volumes: list[Object]) -> Iterator[Family]:
    done, total = (
        gauge(f"ingot_datavolume_{name}_bytes", doc, _LABELS)
        for name, doc in (
            ("done", "Bytes that have come, of volumes that are being filled"),
            ("total", "Bytes that are to come in all, where that is known"),
        )
    )
    progress = {
        operation: counter(
            f"kubevirt_cdi_{operation}_progress", f"The {operation} progress in percentage", ("ownerUID",)
        )
        for operation in (_IMPORT, _CLONE)
    }
    for volume in volumes:
        operation = _MOVING.get(phase_of(volume), _CLONE if _waits_for_source(volume) else _IMPORT)
        labels = namespace_of(volume), name_of(volume), operation
        transfer = volume["status"].get("transfer") or {}
        done.add_metric(labels, transfer.get("done", 0))
        if not transfer.get("total"):
            continue
        total.add_metric(labels, transfer["total"])
        if operation in progress:
            progress[operation].add_metric((uid_of(volume),), 100 * transfer["done"] / transfer["total"])
    yield from (done, total, *progress.values())
