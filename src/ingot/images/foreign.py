"""Disks in images of other makers (vmdk, vdi, vhdx, vhd), decoded by QEMU in a process of its own, with limits."""

import contextlib
import errno
import json
import os
import resource
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from ingot.host.confinement import Confinement, confinement_available
from ingot.host.parent import end_with
from ingot.host.scratch import ScratchDirectory
from ingot.images.content import Extent, FileContent
from ingot.images.fault import ImageFault
from ingot.images.foreign_formats import check_foreign
from ingot.images.nbd.address import Address
from ingot.images.nbd.client import NbdContent

PROGRAM = "qemu-nbd"
# What QEMU calls a format, where that is something else.
_DRIVERS = {"vhd": "vpc"}
# Until it serves; and for one read, which is a few MiB of a local file.
_START_SECONDS = 20.0
_READ_SECONDS = 60.0
_END_SECONDS = 1.0
_WATCH_SECONDS = 1.0
_MEMORY = 4 << 30
# CPU seconds: some for the start, and one for so many bytes of the disk.
_CPU = 60
_BYTES_PER_CPU = 10 << 20
_CONNECTIONS = 4
# How much of a disk is asked about at once.
_EXTENTS = 1 << 30
# Beside its image QEMU may read only what programs are made of.
_LIBRARIES = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")))


class ForeignDisk:
    """The disk in a file, of a format that `check_foreign` knows; the file is closed with it. QEMU only reads it, and
    the kernel lets it open no other, whatever the file says by then; a kernel that cannot is given only files that
    nobody else may write. When QEMU dies, hangs, or takes too much, reads end with an ImageFault."""

    def __init__(self, file: FileContent, format: str, subject: str, limit: int, program: str = PROGRAM) -> None:
        """Raises ImageFault, also when the disk has more than `limit` bytes; `file` is then still open."""
        check_foreign(file, format, subject)
        self._confined = confinement_available()
        if not self._confined:
            _check_writers(file, subject)
        self._subject = subject
        self._file = file
        self._scratch = ScratchDirectory("ingot-qemu-")
        self._directory = self._scratch.path
        self._log = (self._directory / "log").open("w+b")
        self._reads: dict[int, float] = {}
        self._closing = False
        try:
            self._start(program, format)
            self._disk = self._connect()
        except BaseException:
            self._end()
            raise
        if self.size > limit:
            self._disk.close()
            self._end()
            raise ImageFault(subject, "TooLarge", f"its disk has {self.size} bytes; at most {limit} fit")
        self._allow(_CPU + self.size // _BYTES_PER_CPU)

    @property
    def size(self) -> int:
        return self._disk.size

    def readinto(self, start: int, buffer: memoryview) -> None:
        with self._watched():
            self._disk.readinto(start, buffer)

    def extents(self, start: int, end: int) -> Iterator[Extent]:
        for at in range(start, end, _EXTENTS):
            with self._watched():
                found = list(self._disk.extents(at, min(at + _EXTENTS, end)))
            yield from found

    def close(self) -> None:
        self._disk.close()
        self._end()
        self._file.close()

    def _start(self, program: str, format: str) -> None:
        descriptor = self._file.fileno()
        file = {"driver": "file", "filename": f"/proc/self/fd/{descriptor}"}
        image: dict[str, object] = {"driver": _DRIVERS.get(format, format), "file": file, "read-only": True}
        if format == "vmdk":
            # The only one of them with which QEMU knows parents.
            image["backing"] = None
        options = ("--read-only", "--persistent", f"--shared={_CONNECTIONS}", f"--socket={self._directory / 'nbd'}")
        arguments = [*options, f"json:{json.dumps(image)}"]
        started = threading.Event()
        failed: list[str] = []

        def keep() -> None:
            try:
                self._process = self._run(program, arguments)
            except (OSError, subprocess.SubprocessError) as error:
                failed.append(getattr(error, "strerror", None) or str(error))
                return
            finally:
                started.set()
            self._watch()

        # The kernel kills it with the thread that started it, so that one must live as long.
        self._keeper = threading.Thread(target=keep, name="qemu-nbd", daemon=True)
        self._keeper.start()
        started.wait()
        if failed:
            message = f"{program} cannot be run ({failed[0]}): install Debian's package qemu-utils"
            raise ImageFault(self._subject, "Missing", message)

    def _run(self, program: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        """Raises OSError, and SubprocessError when the kernel does not take the limits."""
        path = shutil.which(program)
        if path is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        image, readable = self._file.fileno(), (Path(path), *_LIBRARIES)
        confinement = Confinement(readable, [image], self._directory) if self._confined else None
        with confinement or contextlib.nullcontext():
            return subprocess.Popen(
                [path, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=(image,),
                env={**os.environ, "LC_ALL": "C"},
                preexec_fn=partial(_restrict, os.getpid(), confinement),
            )

    def _allow(self, cpu: int) -> None:
        """Lets the process use so many CPU seconds in all."""
        with contextlib.suppress(ProcessLookupError):
            _, most = resource.prlimit(self._process.pid, resource.RLIMIT_CPU)
            resource.prlimit(self._process.pid, resource.RLIMIT_CPU, (cpu, most))

    def _watch(self) -> None:
        """Waits for the end of the process, and brings it about when a read takes too long."""
        while True:
            try:
                self._process.wait(timeout=_WATCH_SECONDS)
                return
            except subprocess.TimeoutExpired:
                oldest = min(self._reads.copy().values(), default=time.monotonic())
                if time.monotonic() - oldest > _READ_SECONDS:
                    self._process.kill()

    def _connect(self) -> NbdContent:
        address = Address(socket=self._directory / "nbd")
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                # It does not come back when it is gone.
                return NbdContent(address, _CONNECTIONS, pauses=())
            except ImageFault as fault:
                if self._process.poll() is not None:
                    raise self._ended() from None
                if not fault.retry or time.monotonic() > deadline:
                    message = f"QEMU did not open it in {_START_SECONDS:g} s: {fault.message}"
                    raise ImageFault(self._subject, "BadImage", message) from None
            # It has not come so far as to listen.
            time.sleep(0.005)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        key = threading.get_ident()
        self._reads[key] = time.monotonic()
        try:
            yield
        except ImageFault as fault:
            # A connection that is lost is the first sign of its end.
            self._keeper.join(_END_SECONDS if fault.retry else 0)
            if self._process.poll() is not None:
                raise self._ended() from None
            raise ImageFault(self._subject, "BadImage", f"QEMU cannot read it: {fault.message}") from None
        finally:
            del self._reads[key]

    def _ended(self) -> ImageFault:
        self._log.seek(0)
        said = self._log.read(4096).decode(errors="replace").strip().partition("\n")[0]
        why = said or f"it ended with {self._process.returncode}"
        return ImageFault(self._subject, "BadImage", f"QEMU cannot read it: {why}")

    def _end(self) -> None:
        if process := getattr(self, "_process", None):
            process.kill()
        self._keeper.join()
        self._log.close()
        self._scratch.close()


def _check_writers(file: FileContent, subject: str) -> None:
    """Raises ImageFault when another user may write the file: it could lead QEMU elsewhere after it was checked."""
    status = os.fstat(file.fileno())
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        message = "other users may write it, and this kernel has no Landlock to keep QEMU from other files: copy it"
        raise ImageFault(subject, "OthersMayWrite", message)


def _restrict(parent: int, confinement: Confinement | None) -> None:
    end_with(parent)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU, most))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if confinement is not None:
        confinement.enter()
