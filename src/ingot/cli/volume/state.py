"""How far a DataVolume is, for people: a word, a bar, a reason."""

from ingot.api.object import Object
from ingot.cli.image.progress import in_bytes, in_time
from ingot.kube.objects import condition

SUCCEEDED, FAILED, UPLOAD_READY = "Succeeded", "Failed", "UploadReady"
_WAITING = ("PendingPopulation", "WaitForFirstConsumer")
_BAR = 24


def phase_of(volume: Object) -> str:
    return str((volume.get("status") or {}).get("phase") or "Pending")


def is_over(volume: Object) -> bool:
    """Whether nothing more will come of it."""
    return phase_of(volume) in (SUCCEEDED, FAILED)


def waits_for_people(volume: Object) -> bool:
    """Whether nothing comes of it until somebody sends its content, or uses it."""
    transfer = (volume.get("status") or {}).get("transfer")
    return phase_of(volume) in _WAITING or (phase_of(volume) == UPLOAD_READY and not transfer)


def why(volume: Object) -> str:
    """What keeps it from being ready, as its conditions have it; "" where they say nothing."""
    for kind in ("Running", "Ready"):
        found = condition(volume, kind) or {}
        if found.get("status") != "True" and found.get("message"):
            return str(found["message"])
    return ""


def line(volume: Object) -> str:
    """`ImportInProgress [#####·····] 21%, 1.2 GiB of 5.8 GiB, 310.0 MiB/s, 15s left`."""
    phase, moved = phase_of(volume), _moved(volume)
    if is_over(volume) or not moved:
        reason = why(volume) if phase != SUCCEEDED else ""
        return f"{phase}: {reason}" if reason else phase
    return f"{phase} {moved}"


def _moved(volume: Object) -> str:
    transfer = (volume.get("status") or {}).get("transfer") or {}
    done, total = int(transfer.get("done") or 0), int(transfer.get("total") or 0)
    if not transfer:
        return ""
    speed = int(transfer.get("bytesPerSecond") or 0)
    rate = f", {in_bytes(speed)}/s" if speed else ""
    if not total:
        return in_bytes(done) + rate
    share = min(done / total, 1.0)
    filled = int(share * _BAR)
    bar = f"[{'#' * filled}{'·' * (_BAR - filled)}] {100 * share:.0f}%"
    left = f", {in_time(transfer['secondsLeft'])} left" if "secondsLeft" in transfer else ""
    return f"{bar}, {in_bytes(done)} of {in_bytes(total)}{rate}{left}"
