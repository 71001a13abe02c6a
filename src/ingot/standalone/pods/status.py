"""The status of a pod, made from what its containers do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ingot.api.object import Object, uid_of
from ingot.kube.clock import timestamp
from ingot.kube.objects import copy_of
from ingot.standalone.pods.downward import ADDRESS, address_of
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.view import View, terminated


@dataclass(slots=True)
class Picture:
    """All that a status says: the containers, why some of them wait, which are ready, and how the pod ended."""

    init: Sequence[View]
    main: Sequence[View]
    waiting: Mapping[str, PodFault] = field(default_factory=dict)
    unready: frozenset[str] = frozenset()
    failure: PodFault | None = None
    # Whether containers that ended stay ended, for the pod is being deleted.
    over: bool = False
    # The pod's address; "" for the one that it has.
    address: str = ""


def status_of(pod: Object, picture: Picture, now: float) -> Object:
    """The pod with the status that the picture gives."""
    new = copy_of(pod)
    status = new.setdefault("status", {})
    status["phase"] = phase(pod, picture)
    status.setdefault("startTime", timestamp(now))
    address = picture.address or address_of(pod)
    status["hostIP"], status["podIP"] = ADDRESS, address
    status["hostIPs"], status["podIPs"] = [{"ip": ADDRESS}], [{"ip": address}]
    status["containerStatuses"] = [_container(pod, picture, view) for view in picture.main]
    if picture.init:
        status["initContainerStatuses"] = [_container(pod, picture, view) for view in picture.init]
    if picture.failure:
        status["reason"], status["message"] = picture.failure.reason, picture.failure.message
    _conditions(status, picture, now)
    return new


def phase(pod: Object, picture: Picture) -> str:
    policy = pod["spec"].get("restartPolicy", "Always")
    if picture.failure:
        return "Failed"
    failed = [view for view in picture.init if view.ended and view.code != 0]
    if failed and (policy == "Never" or picture.over):
        return "Failed"
    if all(view.ended for view in picture.main):
        codes = {view.code for view in picture.main}
        if picture.over or policy == "Never" or (policy == "OnFailure" and codes == {0}):
            return "Succeeded" if codes == {0} else "Failed"
    if picture.over and not any(view.running for view in (*picture.init, *picture.main)):
        return "Failed"
    return "Running" if any(view.attempt for view in picture.main) else "Pending"


def _container(pod: Object, picture: Picture, view: View) -> Object:
    ready = view in picture.init and view.code == 0
    if view.running and view in picture.main:
        ready = view.name not in picture.unready
    status: Object = {
        "name": view.name,
        "image": view.container["image"],
        "imageID": view.container["image"] if view.attempt else "",
        "ready": ready,
        "started": view.running,
        "restartCount": view.attempt.number if view.attempt else 0,
        "state": _state(pod, picture, view),
        "lastState": {},
    }
    if view.attempt:
        status["containerID"] = _identity(pod, view.name, view.attempt.number)
    before = view.attempt if view.ended and "waiting" in status["state"] else view.previous
    if before is not None:
        code = before.exit_code()
        last = terminated(view.container, before, code or 0, _identity(pod, view.name, before.number))
        status["lastState"] = {"terminated": last}
    return status


def _state(pod: Object, picture: Picture, view: View) -> Object:
    attempt = view.attempt
    if attempt is not None and view.running:
        return {"running": {"startedAt": timestamp(attempt.started)}}
    if fault := picture.waiting.get(view.name):
        return {"waiting": {"reason": fault.reason, "message": fault.message}}
    if attempt is not None and view.code is not None:
        return {"terminated": terminated(view.container, attempt, view.code, _identity(pod, view.name, attempt.number))}
    initializing = view in picture.main and any(each.code != 0 for each in picture.init)
    return {"waiting": {"reason": "PodInitializing" if initializing else "ContainerCreating"}}


def _identity(pod: Object, container: str, number: int) -> str:
    return f"ingot://{uid_of(pod)}/{container}/{number}"


def _conditions(status: Object, picture: Picture, now: float) -> None:
    waiting = [view.name for view in picture.init if view.code != 0]
    unready = [view.name for view in picture.main if not view.running or view.name in picture.unready]
    ended = status["phase"] in ("Succeeded", "Failed")
    why = "PodFailed" if status["phase"] == "Failed" else "PodCompleted" if ended else "ContainersNotReady"
    message = f"containers with unready status: [{' '.join(unready)}]" if unready and not ended else ""
    ready = (not unready and not ended, why, message)
    pending = f"containers with incomplete status: [{' '.join(waiting)}]"
    _set(status, "Initialized", (not waiting, "ContainersNotInitialized", pending), now)
    _set(status, "ContainersReady", ready, now)
    _set(status, "Ready", ready, now)
    _set(status, "PodScheduled", (True, "", ""), now)


def _set(status: Object, kind: str, wanted: tuple[bool, str, str], now: float) -> None:
    """A condition of a pod says why only while it is false."""
    true, reason, message = wanted
    word = "True" if true else "False"
    conditions = status.setdefault("conditions", [])
    known = next((each for each in conditions if each["type"] == kind), None)
    since = known["lastTransitionTime"] if known and known["status"] == word else timestamp(now)
    fresh = {"type": kind, "status": word, "lastProbeTime": None, "lastTransitionTime": since}
    if not true:
        fresh |= {"reason": reason} | ({"message": message} if message else {})
    if known is None:
        conditions.append(fresh)
    else:
        conditions[conditions.index(known)] = fresh
