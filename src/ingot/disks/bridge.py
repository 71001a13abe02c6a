"""Bridges: a local nbdkit in front of what QEMU does not reach by itself, on a unix socket of the machine's own.

QEMU's own driver for HTTP hangs with two requests in flight, and its TLS reads certificates from one directory for
all machines. A bridge outlives the process that started it, as the guest does; its record lets a later one find it.
"""

import asyncio
import contextlib
import json
import os
import pwd
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from ingot.disks.endpoint import Endpoint, Network
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import address
from ingot.disks.nbdkit import Plan, plan
from ingot.disks.source.refusal import refusal
from ingot.disks.trial import attempt
from ingot.host.files import make_passable, write_atomically
from ingot.host.process import Process, spawn
from ingot.host.short_path import ShortPath
from ingot.host.sockets import LONGEST

_SOCKET = "socket"
_TRIAL = "trial"
_GRACE_SECONDS = 5.0
_START_SECONDS = 20.0


def needed(endpoint: Endpoint) -> bool:
    """Whether QEMU reaches the endpoint through a bridge only."""
    return isinstance(endpoint, Network) and (endpoint.protocol in ("http", "https") or endpoint.tls is not None)


@dataclass(frozen=True, slots=True)
class Record:
    """A bridge as it is written down."""

    process: Process
    socket: Path
    command: list[str]

    @classmethod
    def read(cls, path: Path) -> "Record | None":
        try:
            said = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        return cls(Process.from_record(said), Path(said["socket"]), list(said["command"]))

    def write(self, path: Path) -> None:
        said = {**self.process.record(), "socket": str(self.socket), "command": self.command}
        write_atomically(path, json.dumps(said).encode())

    @property
    def serves(self) -> bool:
        return self.process.alive and self.socket.is_socket()


class Bridges:
    """The bridges of one machine, in its directory. They run as `user`, or as we do when that is None."""

    def __init__(self, directory: Path, user: str | None) -> None:
        self._directory = directory / "bridges"
        self._user = user

    async def ensure(self, volume: str, endpoint: Network) -> Network:
        """The endpoint as its bridge shows it. The bridge is started unless it runs already.

        Raises DiskFault when the endpoint cannot be reached or is not fit, as `trial.attempt` does.
        """
        home = self._home(volume)
        wanted = plan(volume, endpoint, home)
        socket = _socket(home)
        command = self._as_user(wanted.serving(socket, home / "ready"))
        record = Record.read(self._record(volume))
        if record is None or not record.serves or record.command != command or not _same_files(home, wanted):
            await self.drop(volume)
            self._write_files(home, wanted)
            await self._try(volume, endpoint, wanted, socket.with_name(_TRIAL))
            await self._start(volume, command, socket)
        origin = address(endpoint)
        return replace(
            endpoint,
            protocol="nbd",
            name="",
            hosts=(),
            socket=socket,
            tls=None,
            credentials=None,
            initiator="",
            origin=origin,
        )

    async def mend(self) -> list[str]:
        """Starts again, on the same socket, what has died; the volumes whose bridge it was."""
        mended = []
        for path in sorted(self._directory.glob("*.json")):
            record = Record.read(path)
            if record is not None and not record.serves:
                await _end_strays(record.socket)
                await self._start(path.stem, record.command, record.socket)
                mended.append(path.stem)
        return mended

    async def drop(self, volume: str) -> None:
        """Ends one bridge, if there is one, and removes all that it had."""
        home = self._home(volume)
        if not home.exists() and not self._record(volume).exists():
            return
        await _end_strays(_socket(home))
        self._record(volume).unlink(missing_ok=True)
        self._log(volume).unlink(missing_ok=True)
        shutil.rmtree(home, ignore_errors=True)
        _short(home).remove()

    async def end(self) -> None:
        """Ends all bridges and removes all that they had."""
        if self._directory.is_dir():
            for volume in {path.stem for path in self._directory.iterdir()}:
                await self.drop(volume)
            shutil.rmtree(self._directory)

    async def _try(self, volume: str, endpoint: Network, wanted: Plan, socket: Path) -> None:
        _short(self._home(volume)).make()
        try:
            await attempt(volume, endpoint, self._as_user(wanted.trying(socket)), socket)
        except DiskFault:
            await self.drop(volume)
            raise

    async def _start(self, volume: str, command: list[str], socket: Path) -> None:
        home, log = self._home(volume), self._log(volume)
        ready = home / "ready"
        _short(home).make()
        for left in (ready, socket):
            left.unlink(missing_ok=True)
        process = spawn(command, log=log)
        Record(process, socket, command).write(self._record(volume))
        deadline = asyncio.get_running_loop().time() + _START_SECONDS
        while not ready.exists():
            if not process.alive or asyncio.get_running_loop().time() > deadline:
                said = log.read_text(errors="replace")[-1000:].strip()
                raise refusal(volume, "BridgeFailed", f"nbdkit did not start: {said or 'it said nothing'}")
            await asyncio.sleep(0.01)

    def _write_files(self, home: Path, wanted: Plan) -> None:
        make_passable(self._directory)
        home.mkdir(mode=0o700)
        for name, content in wanted.files.items():
            write_atomically(home / name, content)
        if self._user is not None:
            known = pwd.getpwnam(self._user)
            # The directory last: until then nobody else can put anything in the place of a file.
            for path in (*(home / name for name in wanted.files), home):
                os.chown(path, known.pw_uid, known.pw_gid, follow_symlinks=False)

    def _as_user(self, command: list[str]) -> list[str]:
        """The command as the user from its first moment, so that its socket and its files are that user's."""
        if self._user is None:
            return command
        known = pwd.getpwnam(self._user)
        return ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--clear-groups", "--", *command]

    def _home(self, volume: str) -> Path:
        return self._directory / volume

    def _record(self, volume: str) -> Path:
        return self._directory / f"{volume}.json"

    def _log(self, volume: str) -> Path:
        return self._directory / f"{volume}.log"


def _socket(home: Path) -> Path:
    """A path for a bridge's socket that the kernel takes."""
    return _short(home).path / _SOCKET


def _short(home: Path) -> ShortPath:
    return ShortPath(home, LONGEST - len(f"/{_SOCKET}"))


def _same_files(home: Path, wanted: Plan) -> bool:
    return all((home / name).is_file() and (home / name).read_bytes() == text for name, text in wanted.files.items())


async def _end_strays(socket: Path) -> None:
    """Ends every nbdkit on the socket, also one whose starter was killed before it could write a record."""
    for process in _servers_on(socket):
        await process.end(_GRACE_SECONDS)


def _servers_on(socket: Path) -> list[Process]:
    argument = b"\0-U\0%b\0" % os.fsencode(socket)
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        process = Process.of(int(entry.name))
        with contextlib.suppress(OSError):
            if argument in (entry / "cmdline").read_bytes():
                found.append(process)
    return found
