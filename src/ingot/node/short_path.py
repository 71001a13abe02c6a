"""Short names of directories: the path of a unix socket may have 107 bytes and no more."""

import hashlib
import os
import stat
import tempfile
from pathlib import Path

# What a directory may have, so that libvirt's longest socket below it fits.
LONGEST = 40


def short(directory: Path) -> Path:
    """The directory itself, or a symbolic link to it when its path is too long for sockets below it.

    The link lies in XDG_RUNTIME_DIR or the directory for temporary files, has the same name every time, and is made
    again when it is gone. Raises FileExistsError when somebody else has that name.
    """
    if len(os.fsencode(directory)) <= LONGEST:
        return directory
    digest = hashlib.sha256(os.fsencode(directory)).hexdigest()[:8]
    name = f"ingot-{os.geteuid()}-{digest}"
    link = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()) / name
    if len(os.fsencode(link)) > LONGEST:
        link = Path("/tmp") / name  # noqa: S108 - the owner is checked
    try:
        link.symlink_to(directory)
    except FileExistsError:
        found = link.lstat()
        if not stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or link.readlink() != directory:
            raise
    return link
