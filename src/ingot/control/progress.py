"""How far an instance is, read from its pod: phases and conditions until its node takes over, and when that fails."""

from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, uid_of
from ingot.control.fault import InstanceFault
from ingot.control.writing import drop_condition
from ingot.kube.clock import timestamp
from ingot.kube.objects import condition, is_deleting, is_true, set_condition

SYNCHRONIZED = "Synchronized"
READY = "Ready"
POD_SCHEDULED = "PodScheduled"
NODE_NOT_READY = "NodeNotReady"
_NOT_RUNNING = ("GuestNotRunning", "Guest VM is not reported as running")


def launching(instance: Object, pod: Object | None, fault: InstanceFault | None, now: float) -> None:
    """Write where an instance stands that no node has been told of; `pod` is None where there is none."""
    _synchronize(instance, fault, now)
    set_condition(instance, READY, False, *_NOT_RUNNING, now)
    if phase.phase_of(instance) == phase.UNSET:
        phase.enter(instance, phase.PENDING, timestamp(now))
    if pod is None and phase.phase_of(instance) == phase.PENDING:
        return
    if pod is None or is_lost(pod):
        failed(instance, "LauncherLost", why_lost(pod), now)
    elif is_true(pod, READY):
        _hand_over(instance, pod, now)
    else:
        _scheduling(instance, pod, now)


def _synchronize(instance: Object, fault: InstanceFault | None, now: float) -> None:
    if fault:
        set_condition(instance, SYNCHRONIZED, False, fault.reason, fault.message, now)
    else:
        drop_condition(instance, SYNCHRONIZED)


def _scheduling(instance: Object, pod: Object, now: float) -> None:
    phase.enter(instance, phase.SCHEDULING, timestamp(now))
    placed = condition(pod, POD_SCHEDULED) or {}
    if placed.get("status") == "False":
        told = placed.get("reason", ""), placed.get("message", "")
        set_condition(instance, POD_SCHEDULED, False, *told, now)
    else:
        drop_condition(instance, POD_SCHEDULED)


def _hand_over(instance: Object, pod: Object, now: float) -> None:
    node = pod["spec"]["nodeName"]
    drop_condition(instance, POD_SCHEDULED)
    instance["status"]["nodeName"] = node
    instance["status"]["activePods"] = {uid_of(pod): node}
    instance["status"]["qosClass"] = (pod.get("status") or {}).get("qosClass", "Burstable")
    phase.enter(instance, phase.SCHEDULED, timestamp(now))


def failed(instance: Object, reason: str, message: str, now: float) -> None:
    """The instance has ended without its node's doing."""
    if phase.enter(instance, phase.FAILED, timestamp(now)):
        instance["status"]["reason"] = reason
        set_condition(instance, SYNCHRONIZED, False, reason, message, now)
        set_condition(instance, READY, False, *_NOT_RUNNING, now)


def is_lost(pod: Object | None) -> bool:
    """Whether a launcher holds its place no longer."""
    return pod is None or is_deleting(pod) or (pod.get("status") or {}).get("phase") in phase.FINAL


def why_lost(pod: Object | None) -> str:
    """What a launcher that is lost tells of its end."""
    if pod is None:
        return "the launcher pod was deleted before the guest was started"
    status = pod.get("status") or {}
    ends = [(each.get("state") or {}).get("terminated") or {} for each in status.get("containerStatuses") or ()]
    told = [status.get("message"), *(end.get("message") for end in ends), status.get("reason")]
    told += [f"exit code {end['exitCode']}" for end in ends if "exitCode" in end]
    why = next((each for each in told if each), "it was deleted" if is_deleting(pod) else "it ended")
    return f'the launcher pod "{name_of(pod)}" was lost before the guest was started: {why}'


def note_node(instance: Object, node: Object, now: float) -> None:
    """Say so when nothing is heard of the instance's node, and take it back when it is heard of again.

    What the node's agent has said since then stands: it is alive, whatever else on the node is not.
    """
    ready = condition(node, READY) or {}
    known = condition(instance, READY) or {}
    if ready.get("status", "True") != "True":
        said_before = known.get("lastTransitionTime", "") < ready.get("lastTransitionTime", "")
        if known.get("status") == "True" and said_before:
            message = (
                f'node "{name_of(node)}" is not ready: {ready.get("message") or ready.get("reason", "")}. '
                "The guest may still run there, so nothing of it is released until the node is back or is gone for good"
            )
            set_condition(instance, READY, False, NODE_NOT_READY, message, now)
    elif known.get("reason") == NODE_NOT_READY:
        set_condition(instance, READY, True, "GuestRunning", "", now)
