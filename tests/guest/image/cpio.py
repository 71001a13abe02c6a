"""Archives in cpio's `newc` form, which the kernel unpacks as its first root."""

from __future__ import annotations

import stat
from collections.abc import Mapping

_TRAILER = "TRAILER!!!"


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """An archive of the files, each with its mode: directories are those whose mode says so, parents come first.

    The same files give the same bytes: owner and times are those of the epoch.
    """
    entries = [_entry(number, name, mode, content) for number, (name, (mode, content)) in enumerate(files.items(), 1)]
    return b"".join([*entries, _entry(0, _TRAILER, 0, b"")])


def directory(mode: int = 0o755) -> tuple[int, bytes]:
    return stat.S_IFDIR | mode, b""


def program(content: bytes) -> tuple[int, bytes]:
    return stat.S_IFREG | 0o755, content


def _entry(number: int, name: str, mode: int, content: bytes) -> bytes:
    path = name.encode() + b"\0"
    # Inode, mode, owner, group, links, time, size, the device's and the file's two numbers, length of the name, check.
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + path) + _padded(content)


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)
