"""How a worker's pod is doing, and what that means: go on, try again, or give up."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from ingot.api.object import Object, name_of
from ingot.control.volumes.filler import Failed, Filled, Reading, Running, Step, Waiting
from ingot.control.volumes.marks import annotation, phase_of
from ingot.kube.clock import timestamp
from ingot.kube.objects import condition, is_deleting

# How often a worker that says that trying again is of no use is started again all the same: what a server says is
# sometimes true for a moment only.
FINAL_RESTARTS = 3
# On a worker's pod: the restart after the last failure of another sort, from which on those count.
COUNTED_FROM = "ingot.io/final-failures-from"
# A message is for a condition and an event, and comes from a process that reads foreign bytes.
_MOST_TEXT = 1000
_MOST_BYTES = 1 << 62
_TRIED_AGAIN = "tried again"
# How long the kubelet, and Ingot in its place, wait before they start a container again.
_PAUSE = re.compile(r"(?:back-off|started again) (?:([0-9]{1,3})m)?([0-9]{1,5}) ?s\b")


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker said in its last words. `retry` is whether another try may help; true where nothing was said. Of
    what was `done` so many bytes were `fetched` and `reused`, where something was."""

    reason: str = ""
    message: str = ""
    retry: bool = True
    done: int = 0
    fetched: int = 0
    reused: int = 0


class _Words(msgspec.Struct):
    reason: str = ""
    message: str = ""
    retry: bool = True
    done: int = 0
    fetched: int = 0
    reused: int = 0


def read_report(text: str) -> Report:
    """The report in a termination message; an empty one where that is something else."""
    try:
        words = msgspec.json.decode(text, type=_Words)
    except (msgspec.MsgspecError, RecursionError):
        return Report()
    reason = words.reason if words.reason.isalnum() and words.reason.isascii() else ""
    counts = (count if 0 <= count < _MOST_BYTES else 0 for count in (words.done, words.fetched, words.reused))
    return Report(reason[:_MOST_TEXT], plain(words.message), words.retry, *counts)


def plain(text: str) -> str:
    """One line without control characters, and not a long one."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}…"


def restarts_of(pod: Object) -> int:
    return int(_container(pod).get("restartCount") or 0)


def final_reading(pod: Object) -> Reading | None:
    """How much a worker that has done its work says that it was."""
    done = last_report(pod).done
    return Reading(done, done, 0) if phase_of(pod) == "Succeeded" and done else None


def last_report(pod: Object) -> Report:
    """What its worker said when it ended last."""
    return read_report(_ended(pod).get("message") or "")


def has_run(pod: Object) -> bool:
    """Whether its worker has ever started."""
    status = _container(pod)
    return bool(status.get("restartCount") or _ended(pod) or "running" in (status.get("state") or {}))


def is_done(pod: Object) -> bool:
    """Whether its worker has ended well. A kubelet tells that of the container some moments before it does of the
    pod."""
    ended = (_container(pod).get("state") or {}).get("terminated") or {}
    return phase_of(pod) == "Succeeded" or ended.get("exitCode") == 0


def judge(pod: Object, prime: Object) -> Step:
    """What the worker's pod says of the prime that it fills."""
    phase = phase_of(pod)
    if phase == "Succeeded" and (not is_deleting(pod) or _ended(pod).get("exitCode") == 0):
        return Filled(prime) if prime["spec"].get("volumeName") else Waiting("PrimeNotBound", _BINDING)
    if is_deleting(pod):
        return Waiting("WorkerEnding", f'pod "{name_of(pod)}" is being deleted: another one is started, tried again')
    if phase == "Failed":
        return _lost(pod)
    if "running" in (_container(pod).get("state") or {}) or is_done(pod):
        return Running()
    return _after_failure(pod) if _ended(pod) else _before(pod)


_BINDING = "the worker has ended; the volume is being bound"


def _container(pod: Object) -> dict[str, Any]:
    """The status of the pod's one container."""
    return next(iter((pod.get("status") or {}).get("containerStatuses") or ()), {})


def _ended(pod: Object) -> dict[str, Any]:
    """How the container's last run ended; {} if none has, or it ended well."""
    status = _container(pod)
    for state in (status.get("state") or {}, status.get("lastState") or {}):
        if ended := state.get("terminated"):
            return dict(ended)
    return {}


def _lost(pod: Object) -> Waiting:
    """A pod that will not run again, though it should: evicted, or its node is gone. The populator takes it away."""
    status = pod.get("status") or {}
    report = last_report(pod)
    why = plain(status.get("message") or "") or report.message or status.get("reason") or "it gave no reason"
    message = f'pod "{name_of(pod)}" failed: {why}; another one takes its place, tried again'
    return Waiting(report.reason or _word(status.get("reason")) or "WorkerLost", message)


def failure_of(pod: Object) -> str:
    """What went wrong when its worker ended last."""
    ended = _ended(pod)
    how = f"signal {ended['signal']}" if ended.get("signal") else f"exit code {ended.get('exitCode')}"
    return last_report(pod).message or f'the worker in pod "{name_of(pod)}" ended with {how}'


def _after_failure(pod: Object) -> Waiting | Failed:
    """The container ended, and is started again after a while."""
    report, message = last_report(pod), failure_of(pod)
    reason = report.reason or _word(_ended(pod).get("reason")) or "Error"
    if report.retry:
        return Waiting(reason, f"{message}; {_again(pod)}")
    tried = max(restarts_of(pod) - _counted_from(pod), 0)
    if tried < FINAL_RESTARTS:
        return Waiting(reason, f"{message}; restart {tried + 1} of {FINAL_RESTARTS}, {_again(pod)}")
    return Failed(reason, f"{message}; {FINAL_RESTARTS} restarts did not help, final")


def _again(pod: Object) -> str:
    """When its container is started again, where who does that tells how long it waits."""
    waits = ((_container(pod).get("state") or {}).get("waiting") or {}).get("message") or ""
    pause, finished = _PAUSE.search(waits), _ended(pod).get("finishedAt")
    if pause is None or not finished:
        return _TRIED_AGAIN
    minutes, seconds = (int(part or 0) for part in pause.groups())
    when = datetime.fromisoformat(finished).timestamp() + 60 * minutes + seconds
    return f"{_TRIED_AGAIN} at {timestamp(when)}"


def untimed(message: str) -> str:
    """What is said of a failure, without when it is tried again: that is known a moment later."""
    head, found, _ = message.partition(f"{_TRIED_AGAIN} at ")
    return f"{head}{_TRIED_AGAIN}" if found else message


def excused(pod: Object) -> int | None:
    """Of a container that does not run: what COUNTED_FROM is to be, where that has to change, else None."""
    ended = _ended(pod)
    if not ended or ended.get("exitCode") == 0 or not read_report(ended.get("message") or "").retry:
        return None
    wanted = restarts_of(pod) + 1
    return wanted if _counted_from(pod) < wanted else None


def _counted_from(pod: Object) -> int:
    told = annotation(pod, COUNTED_FROM)
    return int(told) if told.isdecimal() else 0


def _before(pod: Object) -> Waiting:
    """The container has not run yet."""
    placed = condition(pod, "PodScheduled") or {}
    if placed.get("status") == "False":
        return Waiting(_word(placed.get("reason")) or "Unschedulable", plain(placed.get("message") or ""))
    waits = (_container(pod).get("state") or {}).get("waiting") or {}
    return Waiting(_word(waits.get("reason")) or "Pending", plain(waits.get("message") or ""))


def _word(reason: str | None) -> str:
    return reason if reason and reason.isalnum() else ""
