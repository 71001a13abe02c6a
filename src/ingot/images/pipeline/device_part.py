"""A block device while it is written."""

import os
import stat
from pathlib import Path

from ingot.images.fault import ImageFault
from ingot.images.pipeline.journal import Finished, Journal, boot_id
from ingot.images.pipeline.target import FileTarget, Target, empty_device


class DevicePart:
    """A block device, written in place. It is whole when its journal, in the directory `state`, says so."""

    def __init__(self, path: Path, state: Path, replace: bool, preallocate: bool = False) -> None:
        """`replace`: whether a disk that is whole already is written again. `preallocate`: whether its zeros are
        written too. Raises ImageFault when the device is in use, and OSError."""
        self.name = str(path)
        self._replace = replace
        self._preallocate = preallocate
        self._descriptor = _exclusive(path)
        number = os.fstat(self._descriptor).st_rdev
        name = f"device-{os.major(number)}-{os.minor(number)}"
        self.journal_path = state / f"{name}.ingot-journal"
        self.spool_path = state / f"{name}.ingot-spool"
        self._room = os.lseek(self._descriptor, 0, os.SEEK_END)
        self.place = f"device:{boot_id()}:{name}:{_sequence(number)}:{self._room}"
        self.target = FileTarget(self._descriptor)

    @property
    def room(self) -> int | None:
        return self._room

    @property
    def begun(self) -> bool:
        return True

    @property
    def left(self) -> bool:
        """A device always holds something."""
        return False

    def published(self, journal: Journal) -> Finished | None:
        """Raises ImageFault for a device with a whole disk that is another one."""
        if self._replace:
            return None
        other = journal.finished_by_another()
        if other is not None and other.mark == self.place:
            message = "it holds another image, which is complete: use --force to write it anew"
            raise ImageFault(self.name, "Exists", message)
        finished = journal.finished()
        return finished if finished is not None and finished.mark == self.place else None

    def start_over(self, size: int) -> None:
        """Its size is within its bounds."""
        self.spool_path.unlink(missing_ok=True)
        empty_device(self._descriptor, self._room, keep=self._preallocate)

    def take_up(self, target: Target) -> None:
        """It is as it was left."""

    def publish(self, size: int, target: Target, journal: Journal) -> None:
        target.finish(size)
        os.fsync(self._descriptor)
        journal.save_finished(Finished(self.place, size), for_good=True)
        self.spool_path.unlink(missing_ok=True)

    def discard(self, journal: Journal) -> None:
        self.spool_path.unlink(missing_ok=True)
        journal.remove()

    def close(self) -> None:
        self.target.close()
        os.close(self._descriptor)


def _sequence(number: int) -> str:
    """Tells a disk from all others that have had its number: the kernel counts those that it has seen since it started.
    Where it does not, each is another one each time."""
    kernel = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    try:
        if (kernel / "partition").exists():
            return f"{(kernel.parent / 'diskseq').read_text().strip()}+{(kernel / 'start').read_text().strip()}"
        return (kernel / "diskseq").read_text().strip()
    except OSError:
        return os.urandom(8).hex()


def _exclusive(path: Path) -> int:
    try:
        # The kernel refuses a second exclusive opener, a mounted filesystem's device among them.
        descriptor = os.open(path, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise ImageFault(str(path), "InUse", f"the device cannot be had alone: {error.strerror}") from None
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ImageFault(str(path), "BadTarget", "it is no block device any more")
    return descriptor
