"""What a request may ask for, and the commands other than reads and writes."""

import errno
import itertools

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve.export import Export

# A reply tells at most so many extents, of so many that the export has: the client asks again for the rest.
_MOST_EXTENTS = 1024
_MOST_SEEN = 1 << 14
# The flags that each command may have.
_FLAGS = {
    wire.CMD_READ: wire.FLAG_DF | wire.FLAG_FUA,
    wire.CMD_WRITE: wire.FLAG_FUA,
    wire.CMD_FLUSH: wire.FLAG_FUA,
    wire.CMD_TRIM: wire.FLAG_FUA,
    wire.CMD_CACHE: wire.FLAG_FUA,
    wire.CMD_WRITE_ZEROES: wire.FLAG_FUA | wire.FLAG_NO_HOLE | wire.FLAG_FAST_ZERO,
    wire.CMD_BLOCK_STATUS: wire.FLAG_FUA | wire.FLAG_REQ_ONE,
}
_CHANGES = {wire.CMD_WRITE, wire.CMD_TRIM, wire.CMD_WRITE_ZEROES}
_CODES = {
    errno.EPERM: wire.EPERM,
    errno.EACCES: wire.EPERM,
    errno.EROFS: wire.EPERM,
    errno.ENOMEM: wire.ENOMEM,
    errno.ENOSPC: wire.ENOSPC,
    errno.EDQUOT: wire.ENOSPC,
    errno.EFBIG: wire.ENOSPC,
    errno.EOPNOTSUPP: wire.ENOTSUP,
}


def check(export: Export, status: bool, flags: int, command: int, start: int, length: int) -> int:
    """The error that a request has by itself, 0 for none. `status`: whether the client agreed on block status."""
    if command not in _FLAGS or flags & ~_FLAGS[command] or (command == wire.CMD_BLOCK_STATUS and not status):
        return wire.EINVAL
    if command == wire.CMD_FLUSH:
        return wire.EINVAL if start or length else 0
    if command in _CHANGES and not export.writable:
        return wire.EPERM
    if length == 0 or (command == wire.CMD_READ and length > wire.MOST_REQUEST):
        return wire.EINVAL
    if start + length > export.size:
        return wire.ENOSPC if command in _CHANGES else wire.EINVAL
    return 0


def perform(export: Export, flags: int, command: int, start: int, length: int) -> None:
    """Does one that has nothing to tell. Raises OSError and ImageFault."""
    if command == wire.CMD_FLUSH:
        export.flush()
    elif command == wire.CMD_CACHE:
        export.ahead(start, length)
    elif command == wire.CMD_TRIM:
        export.trim(start, length)
    else:
        export.zero(start, length, not flags & wire.FLAG_NO_HOLE, bool(flags & wire.FLAG_FAST_ZERO))
    if command in _CHANGES and flags & wire.FLAG_FUA:
        export.flush()


def status(export: Export, start: int, length: int, one: bool) -> list[tuple[int, int]]:
    """Lengths and flags of extents from `start` on, `one` or a bounded number. Raises OSError and ImageFault."""
    found: list[tuple[int, int]] = []
    for extent in itertools.islice(export.extents(start, start + length), _MOST_SEEN):
        flags = 0 if extent.data else wire.STATE_HOLE | wire.STATE_ZERO
        if found and found[-1][1] == flags:
            found[-1] = (found[-1][0] + extent.length, flags)
        elif len(found) == (1 if one else _MOST_EXTENTS):
            break
        else:
            found.append((extent.length, flags))
    return found


def code_of(error: Exception) -> int:
    """What a client is told of something that went wrong here."""
    if isinstance(error, ImageFault):
        return wire.EIO
    return _CODES.get(error.errno or 0, wire.EIO) if isinstance(error, OSError) else wire.EIO
