"""Which workers have one of the places at the gate, by what their pods say of themselves."""

from collections.abc import Mapping, Set

from ingot.api.cdi.names import CLONER_PREFIX, DEVICE_PATH, IMPORTER_PREFIX, SIZE_PREFIX
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import DATA_VOLUMES
from ingot.control.owning import is_owned
from ingot.control.volumes.marks import created, is_over, is_prime, target_of
from ingot.kube.cache import Cache, Key
from ingot.kube.clock import Clock
from ingot.kube.objects import controller_of

# How long a pod that has not started yet keeps its place, where nobody knows why: its image may never come.
START_SECONDS = 30.0


def looking(volume: Key) -> Key:
    """Under which key the size of a DataVolume's image is looked for: no claim has such a name."""
    return Key(volume.namespace, f"{DATA_VOLUMES.plural}/{volume.name}")


def filled_by(pod: Object, claims: Cache, volumes: Cache) -> Key | None:
    """What a worker is at: a target, or what is being looked at. None for pods that only say they are one."""
    owner = Key(namespace_of(pod), (controller_of(pod) or {}).get("name", ""))
    volume = volumes.get(owner)
    if volume is not None and is_owned(pod, volume):
        return looking(owner) if name_of(pod) == f"{SIZE_PREFIX}{uid_of(volume)}" else None
    prime = claims.get(owner)
    if prime is None or not is_owned(pod, prime):
        return None
    if name_of(pod) not in (f"{IMPORTER_PREFIX}{name_of(prime)}", f"{CLONER_PREFIX}{name_of(prime)}"):
        return None
    key = target_of(prime)
    target = claims.get(key) if key else None
    return key if target is not None and is_prime(prime, target) else None


def holds_place(pod: Object, clock: Clock, seconds: float) -> bool:
    """Whether a worker is at work, or may begin to within so many seconds after it was made: one that cannot start, or
    waits to start again, must not keep others out."""
    if is_over(pod):
        return False
    if is_running(pod):
        return True
    if has_failed(pod):
        return False
    return clock.time() - created(pod) < seconds


def _container(pod: Object) -> Object:
    return next(iter((pod.get("status") or {}).get("containerStatuses") or ()), {})


def is_running(pod: Object) -> bool:
    """Whether its worker runs."""
    return not is_over(pod) and "running" in (_container(pod).get("state") or {})


def has_failed(pod: Object) -> bool:
    """Whether its worker has ended before, and was or is to be started again."""
    return bool(_container(pod).get("restartCount") or _container(pod).get("lastState"))


def begins_anew(pod: Object) -> bool:
    """Whether another pod in its place could not go on: how far a device is filled is noted in its pod."""
    containers = pod["spec"].get("containers") or ()
    return any(each["devicePath"] == DEVICE_PATH for one in containers for each in one.get("volumeDevices", ()))


def surplus(workers: Mapping[Key, Object], busy: Set[Key], late: Set[Key], limit: int) -> set[Key]:
    """The workers at work that are more than `limit`, of those that were let in by nobody: they failed and were started
    again, or were so `late` that their places were others' by then. `busy` are all that have a place.

    Who failed goes also for those that may begin at any moment. Who was late goes for those only that run, and began
    before or in time: where all are late, nobody would be at work.
    """
    running = {key: pod for key, pod in workers.items() if is_running(pod)}
    failed = {key for key, pod in running.items() if has_failed(pod)}
    late = late & running.keys() - failed
    times = {key: (_started(pod), key) for key, pod in running.items()}
    too_late = {
        key for key in late if sum(times[each] < times[key] or each not in late | failed for each in running) >= limit
    }
    free = max(limit - len(busy - failed - too_late), 0)
    order = sorted(failed, key=lambda key: (not begins_anew(running[key]), times[key]))
    return too_late | set(order[free:])


def _started(pod: Object) -> str:
    return str(_container(pod)["state"]["running"].get("startedAt") or "")
