"""What a node does to its machine outside its own directory, and taking it back.

Of a kubelet and a containerd these stay: mounts and loop devices of pods that still ran, the shims that hold the pods'
containers, control groups, kernel settings, and some directories with fixed names.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
SETTINGS = tuple(
    Path("/proc/sys") / name
    for name in (
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "kernel/panic",
        "kernel/panic_on_oops",
        "kernel/keys/root_maxkeys",
        "kernel/keys/root_maxbytes",
    )
)
# Whatever root the kubelet and containerd are given, they make these.
_DIRECTORIES = tuple(map(Path, ("/var/lib/kubelet", "/var/log/containers", "/run/containerd")))
_TIMEOUT = 10.0


class Leaked(Exception):
    """Something of a node stayed on the machine."""

    def __init__(self, what: list[str]) -> None:
        super().__init__(f"the node left behind: {', '.join(what)}")
        self.what = what


class Traces:
    """Open around the whole life of a node in `directory` whose containerd listens on `socket`."""

    def __init__(self, directory: Path, socket: Path) -> None:
        self._directory = directory
        self._socket = socket

    def __enter__(self) -> Traces:
        self._settings = {path: path.read_text() for path in SETTINGS if path.exists()}
        self._new = [path for path in _DIRECTORIES if not path.exists()]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises Leaked."""
        for path, content in self._settings.items():
            path.write_text(content)
        _until(self._end_processes)
        for device in loops(self._directory):
            subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
        for place in reversed(mounts(self._directory)):
            subprocess.run(["umount", "--", place], check=False, capture_output=True)
        for path in self._new:
            shutil.rmtree(path, ignore_errors=True)
        # Processes that have ended are in their groups until somebody has asked for their exit codes.
        _until(_remove_control_groups)
        if left := self._left():
            raise Leaked(left)

    def _end_processes(self) -> bool:
        found = [*shims(self._socket), *pod_processes()]
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not found

    def _left(self) -> list[str]:
        processes = [f"process {each}" for each in (*shims(self._socket), *pod_processes())]
        return [*processes, *loops(self._directory), *map(str, (*mounts(self._directory), *_control_groups()))]


def mounts(below: Path) -> list[Path]:
    """What is mounted at or below a directory, in the order in which it was."""
    lines = Path("/proc/self/mounts").read_text().splitlines()
    places = [Path(line.split(" ")[1].encode().decode("unicode_escape")) for line in lines]
    return [place for place in places if place.is_relative_to(below)]


def loops(below: Path) -> list[str]:
    """The loop devices over files below a directory."""
    listed = subprocess.run(["losetup", "--list", "--json"], check=True, capture_output=True, text=True).stdout
    devices = json.loads(listed)["loopdevices"] if listed else []
    return [each["name"] for each in devices if Path(each["back-file"]).is_relative_to(below)]


def shims(socket: Path) -> list[int]:
    """The processes that hold the containers of the containerd that listens on `socket`."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if b"shim" in words[0] and os.fsencode(socket) in words:
            found.append(int(path.parent.name))
    return found


def pod_processes() -> list[int]:
    """The processes of all pods on this machine."""
    groups = [path for top in _control_groups() for path in top.rglob("cgroup.procs")]
    return sorted({int(process) for path in groups for process in _read(path).split()})


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the group is gone meanwhile, or is one of threads
        return ""


def _control_groups() -> list[Path]:
    """The group of all pods, in each hierarchy."""
    return [*_CONTROL_GROUPS.glob("kubepods"), *_CONTROL_GROUPS.glob("*/kubepods")]


def _remove_control_groups() -> bool:
    for top in _control_groups():
        for path, _, _ in os.walk(top, topdown=False):
            with suppress(OSError):
                Path(path).rmdir()
    return not _control_groups()


def _until(done: Callable[[], bool]) -> None:
    """Tries until it is done, for a while: what is left then is told by name."""
    deadline = time.monotonic() + _TIMEOUT
    while not done() and time.monotonic() < deadline:
        time.sleep(0.05)
