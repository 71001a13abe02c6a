"""Files as block devices: loop devices, found again by the file behind them."""

import contextlib
import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path

CONTROL = Path("/dev/loop-control")
_DEVICES = Path("/dev")
_MAJOR = 7

# linux/loop.h
_CLEAR = 0x4C01
_STATUS = 0x4C05
_CAPACITY = 0x4C07
_DIRECT = 0x4C08
_CONFIGURE = 0x4C0A
_FREE = 0x4C82
_INFO = struct.Struct("=5Q4I64s64s32s2Q")
_CONFIG = struct.Struct(f"=II{_INFO.size}s8Q")

# Others attach devices, too, and may be quicker with the number that the kernel named as free.
_TRIES = 32


def attach(file: Path) -> Path:
    """The loop device of the file, which is attached unless it is already. Raises OSError.

    Where the filesystem can, the device goes past the page cache, which would hold every block twice.
    """
    found = attached(file)
    if found is not None:
        return found
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    try:
        for _ in range(_TRIES):
            device = _device(_free())
            if _configure(device, descriptor, file):
                return device
    finally:
        os.close(descriptor)
    raise OSError(errno.EBUSY, f"no free loop device in {_TRIES} tries", str(file))


def _free() -> int:
    control = os.open(CONTROL, os.O_RDWR | os.O_CLOEXEC)
    try:
        return fcntl.ioctl(control, _FREE)
    finally:
        os.close(control)


def _configure(device: Path, file: int, path: Path) -> bool:
    """Whether the device took the file; False if somebody else has it by now."""
    name = os.fsencode(path)[:63]
    info = _INFO.pack(0, 0, 0, 0, 0, 0, 0, 0, 0, name, b"", b"", 0, 0)
    with _opened(device) as descriptor:
        try:
            fcntl.ioctl(descriptor, _CONFIGURE, _CONFIG.pack(file, 0, info, *[0] * 8))
        except OSError as error:
            if error.errno == errno.EBUSY:
                return False
            raise
        # Not every filesystem can, and then the page cache serves.
        with contextlib.suppress(OSError):
            fcntl.ioctl(descriptor, _DIRECT, 1)
    return True


def attached(file: Path) -> Path | None:
    """The loop device of the file, by device and inode: whatever path it was attached by."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return devices().get((status.st_dev, status.st_ino))


def devices() -> dict[tuple[int, int], Path]:
    """The loop devices that have a file, by the file's device and inode."""
    found = {}
    for entry in Path("/sys/block").glob("loop*/loop"):
        device = _device(int(entry.parent.name.removeprefix("loop")))
        behind = _behind(device)
        if behind:
            found[behind] = device
    return found


def _behind(device: Path) -> tuple[int, int] | None:
    """Device and inode of the file behind a loop device; None if there is none."""
    buffer = bytearray(_INFO.size)
    try:
        with _opened(device, os.O_RDONLY) as descriptor:
            fcntl.ioctl(descriptor, _STATUS, buffer)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return None
        raise
    where, inode, *_ = _INFO.unpack(buffer)
    return where, inode


def grow(device: Path) -> None:
    """Make the device as large as its file has become."""
    with _opened(device) as descriptor:
        fcntl.ioctl(descriptor, _CAPACITY, 0)


def flush(file: Path) -> None:
    """Let the file hold all that was written to its device, if it has one."""
    device = attached(file)
    if device is not None:
        with _opened(device) as descriptor:
            os.fsync(descriptor)


def detach(file: Path) -> None:
    """Let go of the file. A device that is still open goes when it is closed."""
    device = attached(file)
    if device is None:
        return
    try:
        with _opened(device) as descriptor:
            fcntl.ioctl(descriptor, _CLEAR, 0)
    except OSError as error:
        # Somebody else was quicker.
        if error.errno != errno.ENXIO:
            raise


def _device(number: int) -> Path:
    """The device's node, which is made where nobody else makes them, as in a container."""
    path = _DEVICES / f"loop{number}"
    with contextlib.suppress(FileExistsError):
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(_MAJOR, number))
    return path


@contextlib.contextmanager
def _opened(device: Path, flags: int = os.O_RDWR) -> Iterator[int]:
    descriptor = os.open(device, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
