"""The files of a volume, copied to another volume: all of them or none."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ingot.host.clone import Progress, clone_tree
from ingot.host.original import Changed, left_alone
from ingot.images.archive.staging import BEGUN, OWN, WHOLE, Staging
from ingot.images.fault import ImageFault

_FULL = (errno.ENOSPC, errno.EDQUOT)


def copy_files(source: Path, directory: Path, progress: Callable[[int, int], None]) -> int:
    """Puts what is in the directory `source` into `directory`, whose names show it only when all is there and on the
    disk; how many bytes were copied. No link is followed. One that is killed begins anew, unless it had only to show
    what was there, and takes the place of what it has shown. Raises ImageFault, also for a source that was changed
    meanwhile."""
    told = Progress(listener=progress)
    with _faults(), Staging(directory, own=True) as staging:
        if staging.is_complete():
            staging.publish()
            return 0
        staging.begin()
        try:
            with left_alone(source):
                # By what it is, not by its name.
                clone_tree(source, Path(f"/proc/self/fd/{staging.files}"), told, without=(OWN, BEGUN, WHOLE))
        except OSError:
            # Others may want the room.
            staging.discard()
            raise
        staging.commit()
        staging.publish()
    return told.done


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except Changed as error:
        message = f"{Path(str(error.filename)).name} was changed while they were copied: start again"
        raise ImageFault("the files of the source", "Changed", message) from None
    except OSError as error:
        if error.errno in _FULL:
            message = "there is no room for the files of the source: take a larger volume"
            raise ImageFault("the volume", "DiskFull", message) from None
        name = f"{Path(str(error.filename)).name}: " if error.filename else ""
        raise ImageFault("the files of the source", "CopyFailed", f"{name}{error.strerror}") from None
