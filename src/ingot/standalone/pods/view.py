"""What a container of a pod is doing, read from what is there."""

from dataclasses import dataclass
from pathlib import Path

from ingot.api.object import Object
from ingot.host.tree import remove_tree
from ingot.kube.clock import timestamp
from ingot.standalone.pods.attempt import Attempt, attempts

FIRST_BACKOFF = 10.0
LONGEST_BACKOFF = 300.0
# An attempt that lived this long makes up for all failures before it.
GOOD_SECONDS = 600.0
_MESSAGE_BYTES = 4096
_LOG_BYTES = 2048


@dataclass(frozen=True, slots=True)
class View:
    """A container, its latest attempt and how that ended (None: it runs, or there is no attempt)."""

    container: Object
    previous: Attempt | None
    attempt: Attempt | None
    code: int | None

    @property
    def name(self) -> str:
        return str(self.container["name"])

    @property
    def running(self) -> bool:
        return self.attempt is not None and self.code is None

    @property
    def ended(self) -> bool:
        return self.code is not None

    @property
    def well(self) -> bool:
        """Whether the last attempt ended as one that may be followed by another at once."""
        attempt = self.attempt
        return attempt is not None and self.ended and attempt.finished - attempt.started >= GOOD_SECONDS

    @property
    def backoff(self) -> float:
        """How long the container waits after its last end before it may be started again: not after its first."""
        attempt = self.attempt
        if attempt is None or not self.ended or self.well or attempt.level == 0:
            return 0.0
        return float(min(FIRST_BACKOFF * 2.0 ** (attempt.level - 1), LONGEST_BACKOFF))

    def restart_due(self, now: float) -> float:
        """Seconds until the container may be started again."""
        if self.attempt is None or not self.backoff:
            return 0.0
        return max(0.0, self.attempt.finished + self.backoff - now)


def look(container: Object, directory: Path) -> View:
    """Reads a container's attempts; one that came to nothing is taken away."""
    found = attempts(directory)
    if found and found[-1].is_void():
        remove_tree(found.pop().directory)
    if not found:
        return View(container, None, None, None)
    previous = found[-2] if len(found) > 1 else None
    return View(container, previous, found[-1], found[-1].exit_code())


def terminated(container: Object, attempt: Attempt, code: int, identity: str) -> Object:
    """The state of an attempt that has ended."""
    state: Object = {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": timestamp(attempt.started),
        "finishedAt": timestamp(attempt.finished),
        "containerID": identity,
    }
    if message := _last_words(container, attempt, code):
        state["message"] = message
    return state


def _last_words(container: Object, attempt: Attempt, code: int) -> str:
    message = _tail(attempt.message, _MESSAGE_BYTES)
    if not message and code != 0 and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        message = _tail(attempt.log, _LOG_BYTES)
    return message


def _tail(path: Path, most: int) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read(most).decode(errors="replace")
