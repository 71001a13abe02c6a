"""Programs that can open only the files that they are given: Landlock, through its system calls."""

import ctypes
import os
import struct
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Self

# Loaded with the module: after a fork, which is where it is used, nothing may be loaded.
_LIBC = ctypes.CDLL(None, use_errno=True)

# <linux/landlock.h>; the numbers of its system calls are the same on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
_RULE = struct.Struct("=Qi")
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_FILE, _MAKE_SOCKET = 1 << 5, 1 << 9
# How many rights over files the first version knows. The second and third brought one more each; what later ones
# brought are no rights to open or change files.
_FIRST_RIGHTS = 13
_LAST_VERSION = 3
# <linux/prctl.h>
_SET_NO_NEW_PRIVILEGES = 38


def confinement_available() -> bool:
    """Whether this machine can confine programs: Linux 5.13 or newer, with Landlock among its security modules."""
    return _version() > 0


class Confinement:
    """What a program may open, prepared before the fork: it may run and read what is in `readable` (files, or
    directories with all below them), read the open files `descriptors` also by their names, make and remove sockets in
    the directory `sockets`, and use /dev/null. A context manager."""

    def __init__(self, readable: Iterable[Path], descriptors: Iterable[int], sockets: Path) -> None:
        """What of `readable` is not there is left out. Raises OSError."""
        rights = (1 << (_FIRST_RIGHTS + min(_version(), _LAST_VERSION) - 1)) - 1
        self._rules = _call(_CREATE_RULESET, struct.pack("=Q", rights), 8, 0)
        try:
            for path in readable:
                with suppress(FileNotFoundError):
                    self._allow(path, _EXECUTE | _READ_FILE | (_READ_DIRECTORY if path.is_dir() else 0))
            for descriptor in descriptors:
                self._add(descriptor, _READ_FILE)
            self._allow(Path(os.devnull), _READ_FILE | _WRITE_FILE)
            self._allow(sockets, _MAKE_SOCKET | _REMOVE_FILE)
        except BaseException:
            self.close()
            raise

    def _allow(self, path: Path, rights: int) -> None:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            self._add(descriptor, rights)
        finally:
            os.close(descriptor)

    def _add(self, descriptor: int, rights: int) -> None:
        _call(_ADD_RULE, self._rules, _PATH_BENEATH, _RULE.pack(rights, descriptor), 0)

    def enter(self) -> None:
        """Called by a child before it becomes the program; there is no way back. Raises OSError."""
        zero = ctypes.c_ulong(0)
        _checked(_LIBC.prctl(_SET_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero, zero, zero))
        _call(_RESTRICT_SELF, self._rules, 0)

    def close(self) -> None:
        os.close(self._rules)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _version() -> int:
    """That of the kernel's Landlock, 0 without one."""
    try:
        return _call(_CREATE_RULESET, None, 0, _VERSION)
    except OSError:
        return 0


def _call(number: int, *arguments: int | bytes | None) -> int:
    words = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    return _checked(_LIBC.syscall(ctypes.c_long(number), *words))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
