"""Workers end with everything else of Ingot, and go on with it where they were. Other pods run on meanwhile."""

import time
from dataclasses import dataclass
from pathlib import Path

from ingot.host.tree import remove_tree
from ingot.standalone.pods.attempt import Attempt
from ingot.standalone.pods.containers import WORKER
from ingot.standalone.pods.directory import known
from ingot.standalone.pods.ending import Ending

# A worker that is killed at any byte is gone on with.
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Worker:
    """A run of a worker, of the pod with that uid; `filled` is the claim that it fills."""

    uid: str
    attempt: Attempt
    filled: str

    @property
    def was_stopped(self) -> bool:
        """Whether `stop` has ended it before it was done."""
        return not self.attempt.directory.exists()


def running(root: Path) -> list[Worker]:
    """The workers that run on this machine; `root` is the kubelet's."""
    ending = Ending(root)
    found = []
    for uid in known(root):
        for attempt in ending.running(uid):
            mark = attempt.directory / WORKER
            if mark.exists():
                found.append(Worker(uid, attempt, mark.read_text()))
    return found


def stop(root: Path) -> list[Worker]:
    """Ends all workers, and returns those that were not done. For when nobody runs pods: they would be started again.

    What was stopped has not failed: it is forgotten, so that the next one is started at once, and counts no restart.
    """
    ending, found = Ending(root), running(root)
    while max((ending.step(worker.uid, _GRACE_SECONDS) for worker in found), default=0.0):
        time.sleep(_LOOK_SECONDS)
    for worker in found:
        if worker.attempt.exit_code() != 0:
            remove_tree(worker.attempt.directory)
    return [worker for worker in found if worker.was_stopped]
