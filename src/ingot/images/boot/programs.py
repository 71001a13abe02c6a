"""Programs as they are started: with their interpreters, their libraries, and the libraries of these."""

import contextlib
import posixpath
from collections.abc import Iterable

from ingot.images.boot.elf import needs
from ingot.images.boot.ext import Ext
from ingot.images.boot.noted import Unreadable

_MOST = 4096
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin")
_USUAL = ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib")


class Programs:
    """Those of one filesystem. What was read once is not read again. Methods raise Unreadable."""

    def __init__(self, files: Ext) -> None:
        self._files = files
        self._seen: set[str] = set()

    def start(self, path: str) -> None:
        """Reads all that a program needs to start, which is a path, or a name in the usual places; nothing where there
        is none."""
        waiting = [path] if "/" in path else [f"{place}/{path}" for place in _PATH if path]
        while waiting and len(self._seen) < _MOST:
            path = waiting.pop()
            if path in self._seen:
                continue
            self._seen.add(path)
            # One that cannot be read is not started; the others are.
            with contextlib.suppress(Unreadable):
                node = self._files.find(path)
                if node is None or not node.is_file:
                    continue
                wanted = needs(self._files.read(node), posixpath.dirname(path))
                found = [self._library(name, wanted.paths) for name in wanted.libraries]
                waiting += [each for each in reversed([wanted.interpreter, *found]) if each]

    def _library(self, name: str, first: Iterable[str]) -> str:
        """Where a library is; "" where it is not."""
        for directory in (*first, *_USUAL):
            path = posixpath.normpath(f"{directory}/{name}")
            if path in self._seen or self._files.find(path) is not None:
                return path
        return ""
