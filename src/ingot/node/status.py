"""What the node says of an instance: phase, conditions and volumes, as KubeVirt's users know them."""

from collections.abc import Iterable

from ingot.api import quantity
from ingot.api.kubevirt import phase, sizes
from ingot.api.kubevirt.volume_status import merged
from ingot.api.object import Object
from ingot.kube.clock import timestamp
from ingot.kube.objects import condition, set_condition
from ingot.node.events import DomainState, Phase

# The reason of an instance that was deleted while its guest was being prepared.
NEVER_STARTED = "deleted before it was started"

# Why a guest stands still: KubeVirt's reason, and words for a person.
_PAUSED = {
    "user": ("PausedByUser", "VMI was paused by user"),
    "ioerror": ("PausedIOError", "VMI was paused, IO error: the guest goes on when its disk answers again"),
}


def running(instance: Object, state: DomainState, now: float) -> None:
    """The instance has a domain: writes that into its status."""
    phase.enter(instance, phase.RUNNING, timestamp(now))
    paused = state.phase is Phase.PAUSED
    if paused:
        reason, message = _PAUSED.get(state.reason, ("Paused", f"VMI was paused: {state.reason}"))
        set_condition(instance, "Paused", True, reason, message, now)
        set_condition(instance, "Ready", False, "GuestPaused", "the guest's CPUs stand still", now)
    else:
        _drop_condition(instance, "Paused")
        set_condition(instance, "Ready", True, "GuestRunning", "", now)
    set_condition(instance, "LiveMigratable", False, "MigrationNotSupported", "no live migration yet", now)
    synchronized(instance, now)
    status = instance["status"]
    status["machine"] = {"type": (instance["spec"]["domain"].get("machine") or {}).get("type") or "q35"}
    sockets, cores, threads = sizes.topology(instance["spec"])
    status["currentCPUTopology"] = {"cores": cores, "sockets": sockets, "threads": threads}
    memory = quantity.written(sizes.guest_memory(instance["spec"]))
    status["memory"] = dict.fromkeys(("guestAtBoot", "guestCurrent", "guestRequested"), memory)


def is_good(reason: str) -> bool:
    """Whether a guest ended as guests should, or never began."""
    return reason in ("shutdown", NEVER_STARTED)


def ended(instance: Object, reason: str, now: float) -> None:
    """The domain has gone: by itself, or because it was told to."""
    good = is_good(reason)
    phase.enter(instance, phase.SUCCEEDED if good else phase.FAILED, timestamp(now))
    _drop_condition(instance, "Paused")
    why = "the guest has shut down" if reason == "shutdown" else f"the guest has ended: {reason}"
    set_condition(instance, "Ready", False, "GuestNotRunning", why, now)


def refused(instance: Object, reason: str, message: str, now: float) -> bool:
    """The instance cannot be started as things are; whether that is news."""
    set_condition(instance, "Ready", False, "GuestNotRunning", "the guest is not running yet", now)
    return set_condition(instance, "Synchronized", False, reason, message, now)


def synchronized(instance: Object, now: float) -> None:
    """What stood in the way is gone."""
    if condition(instance, "Synchronized"):
        set_condition(instance, "Synchronized", True, "Synchronized", "", now)


def volumes(instance: Object, updates: Iterable[Object]) -> None:
    """Merges what the node knows of volumes into `volumeStatus`."""
    status = instance.setdefault("status", {})
    status["volumeStatus"] = merged(status.get("volumeStatus") or [], list(updates))


def _drop_condition(instance: Object, kind: str) -> None:
    status = instance.setdefault("status", {})
    status["conditions"] = [each for each in status.get("conditions") or () if each.get("type") != kind]


def copying(volume: str, done: int, total: int) -> Object:
    """What to say of a volume whose local copy is being made."""
    share = f"{100 * done // total}%" if total else "0%"
    message = f"copied {done} of {total} bytes"
    return {"name": volume, "phase": "Copying", "reason": "Copying", "message": message, "progress": share}
