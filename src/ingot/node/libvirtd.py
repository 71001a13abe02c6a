"""The node's libvirtd: one of our own that outlives us, or one that is given."""

import asyncio
import contextlib
import fcntl
import hashlib
import logging
import os
import shutil
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from ingot.host.files import write_atomically
from ingot.host.process import Process, spawn
from ingot.node.libvirt_home import Home, SessionHome, SystemHome
from ingot.node.link import HypervisorError

log = logging.getLogger(__name__)

START_SECONDS = 30.0
END_SECONDS = 15.0
# The log of libvirtd is set aside at a start when it has grown beyond this.
LONGEST_LOG = 1 << 20
# Where root's libvirtd keeps the logs of domains.
USUAL_LOGS = Path("/var/log/libvirt/qemu")


class Libvirtd:
    """A private libvirtd in a directory of its own, root's or an ordinary user's; nobody else's is touched.

    It is not ours by parentage but by the lock that it holds on its pid file: any process that knows the directory
    finds it again. Guests run on when it ends, and are its own again when it is started anew.
    """

    def __init__(self, directory: Path, qemu_user: str | None = None, *, kvm: bool = False) -> None:
        """`qemu_user` is who QEMU runs as when we are root, libvirt-qemu by default; `kvm` whether guests use KVM."""
        path = directory.absolute()
        root = os.geteuid() == 0
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._home: Home = SystemHome(path, qemu_user, kvm) if root else SessionHome(path)
        self._log = path / "libvirtd.log"

    @property
    def uri(self) -> str:
        return self._home.uri

    @property
    def logs(self) -> Path:
        """Where there is one log for each domain, `<name>.log`."""
        return self._home.logs

    @property
    def process(self) -> Process | None:
        """The libvirtd that runs; None when there is none."""
        return _holder(self._home.pid_file)

    async def ensure(self) -> str:
        """The URI of this libvirtd, which runs: it is started, or found, or replaced if it was started otherwise.

        Raises HypervisorError with what it said last when it cannot be started.
        """
        async with self._alone():
            self._forget_last_boot()
            self._home.prepare()
            process = self.process
            if process is not None and not self._as_wanted():
                log.info("libvirtd is started again with its new configuration")
                await process.end(END_SECONDS)
                process = None
            if process is None:
                process = self._start()
            await self._answering(process)
        return self.uri

    async def mend(self) -> bool:
        """Starts it again if it has died; whether it had."""
        if self.process is not None:
            return False
        await self.ensure()
        return True

    async def renew(self) -> bool:
        """Ends it, to be started again by whoever calls `ensure` next; True, as it is our own. Guests run on."""
        await self.end()
        return True

    async def end(self) -> None:
        """Ends it. Guests run on."""
        async with self._alone():
            process = self.process
            if process is not None:
                await process.end(END_SECONDS)
            self._home.short.remove()

    def _start(self) -> Process:
        if self._log.exists() and self._log.stat().st_size > LONGEST_LOG:
            self._log.replace(self._log.with_suffix(".log.old"))
        write_atomically(self._home.directory / "fingerprint", self._fingerprint().encode())
        try:
            return spawn(self._home.command, log=self._log, environment=self._home.environment)
        except OSError as error:
            raise HypervisorError(0, f"libvirtd cannot be started: {error.filename}: {error.strerror}") from error

    async def _answering(self, process: Process) -> None:
        """Waits until it accepts connections. `process` is the libvirtd, or what becomes it or starts it."""
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while not await _accepts(self._home.socket):
            if not process.alive:
                raise HypervisorError(0, f"libvirtd has ended: {_last_line(self._log)}; see {self._log}")
            if asyncio.get_running_loop().time() > deadline:
                raise HypervisorError(0, f"libvirtd does not answer after {START_SECONDS:g} s; see {self._log}")
            await asyncio.sleep(0.02)

    def _as_wanted(self) -> bool:
        path = self._home.directory / "fingerprint"
        return path.exists() and path.read_text() == self._fingerprint()

    def _fingerprint(self) -> str:
        """A digest of all that decides how libvirtd runs."""
        files = [path for path in self._home.configuration if path.exists()]
        parts = [repr(self._home.command), repr(self._home.environment), *(path.read_text() for path in files)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _forget_last_boot(self) -> None:
        """Removes what libvirt keeps for one boot only, when the machine has been booted since."""
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
        path = self._home.directory / "boot-id"
        if not path.exists() or path.read_text() != boot:
            shutil.rmtree(self._home.volatile, ignore_errors=True)
            write_atomically(path, boot.encode())

    @contextlib.asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Holds the directory's lock, so that no two start a libvirtd in it. It is free again when the holder dies."""
        with (self._home.directory / "lock").open("w") as file:
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.05)
            yield


class GivenLibvirt:
    """A libvirt that somebody else runs: used as it is, never started or ended."""

    def __init__(self, uri: str, logs: Path | None = None) -> None:
        """`logs` is where it keeps one log for each domain; the usual place when it is this machine's own."""
        self.uri = uri
        place = urlsplit(uri)
        own = place.path == "/system" and not place.hostname
        self.logs = logs or (USUAL_LOGS if own else None)

    async def ensure(self) -> str:
        return self.uri

    async def mend(self) -> bool:
        return False

    async def renew(self) -> bool:
        return False

    async def end(self) -> None:
        pass


def _holder(pid_file: Path) -> Process | None:
    """The process that has locked its pid file, which it does while it lives."""
    try:
        with pid_file.open("rb") as file:
            wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            kind, _, _, _, pid = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, wanted))
    except FileNotFoundError:
        return None
    process = None if kind == fcntl.F_UNLCK else Process.of(pid)
    return process if process is not None and process.alive else None


async def _accepts(socket: Path) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(socket)
    except OSError:
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").split("\n") if path.exists() else []
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
