"""Which workers have one of the places at the gate, by what their pods say of themselves."""

from ingot.api.cdi.names import DEVICE_PATH
from ingot.api.object import Object
from ingot.control.volumes.marks import created, is_over
from ingot.kube.cache import Key
from ingot.kube.clock import Clock

# How long a pod that has not started yet keeps its place, where nobody knows why: its image may never come.
START_SECONDS = 30.0


def holds_place(pod: Object, clock: Clock) -> bool:
    """Whether a worker is at work, or may begin to: one that cannot start, or waits to start again, must not keep
    others out."""
    if is_over(pod):
        return False
    if is_running(pod):
        return True
    if has_failed(pod):
        return False
    return clock.time() - created(pod) < START_SECONDS


def _container(pod: Object) -> Object:
    return next(iter((pod.get("status") or {}).get("containerStatuses") or ()), {})


def is_running(pod: Object) -> bool:
    """Whether its worker runs."""
    return not is_over(pod) and "running" in (_container(pod).get("state") or {})


def has_failed(pod: Object) -> bool:
    """Whether its worker has ended before, and was or is to be started again."""
    return bool(_container(pod).get("restartCount") or _container(pod).get("lastState"))


def rank(key: Key, pod: Object) -> tuple[bool, str, Key]:
    """Who of those that were started again goes on: devices, whose transfers begin anew with another pod, then who was
    there first."""
    devices = [each for container in pod["spec"].get("containers") or () for each in container.get("volumeDevices", ())]
    is_file = all(each["devicePath"] != DEVICE_PATH for each in devices)
    started = _container(pod)["state"]["running"].get("startedAt") or ""
    return is_file, started, key
