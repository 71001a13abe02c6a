"""One run of a container: a process that outlives us, and what it leaves on disk.

The process is a small shell that claims the attempt, runs the command, writes down how that ended and takes whatever
is left of its session with it. So the exit code is known whoever asks, and no attempt is ever run twice.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ingot.host.process import Process, spawn
from ingot.host.tree import remove_tree
from ingot.standalone.pods.user import User

# $0 is the attempt's directory. The traps are reset in the command; the shell itself must live to see its end.
_SHELL = """\
set -C
echo $$ > "$0/pid" || exit 125
trap : TERM INT HUP
"$@"
echo $? > "$0/exit"
kill -KILL 0
"""
# The exit code of a process that was killed together with its shell.
KILLED = 128 + signal.SIGKILL
_CLAIM_SECONDS = 1.0
_LOOK_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Attempt:
    """Attempt `number` of a container. `level` counts the attempts before it that failed soon after one another."""

    directory: Path
    number: int
    level: int

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def message(self) -> Path:
        """Where the container may leave its last words."""
        return self.directory / "message"

    @property
    def _pid(self) -> Path:
        return self.directory / "pid"

    @property
    def _exit(self) -> Path:
        return self.directory / "exit"

    @property
    def started(self) -> float:
        return self._pid.stat().st_mtime

    @property
    def finished(self) -> float:
        """When it ended; for one that was killed, when that was noticed."""
        return self._exit.stat().st_mtime

    def make(self, user: User) -> None:
        """Makes its directory, with the file for the last words of a command that runs as `user`."""
        self.directory.mkdir(mode=0o711 if user.changes else 0o700)
        self.message.touch(mode=0o600)
        user.own(self.message)

    async def start(self, command: Sequence[str], environment: Mapping[str, str], user: User) -> None:
        """Runs the command as `user`; returns when the shell has the attempt. Raises OSError."""
        # Should the shell be killed alone, the kernel kills the command.
        guarded = ["setpriv", "--pdeathsig", "KILL", *user.options, "--", *command]
        shell = ["/bin/sh", "-c", _SHELL, str(self.directory), *guarded]
        process = spawn(shell, log=self.log, environment=environment)
        while process.alive and not self._is_claimed():  # noqa: ASYNC110 - a shell sets no event
            await asyncio.sleep(_LOOK_SECONDS)

    def _is_claimed(self) -> bool:
        return self._pid.exists() and self._pid.stat().st_size > 0

    def process(self) -> Process | None:
        """The shell, if it runs."""
        pid = self._claimed()
        if not pid:
            return None
        process = Process.of(pid)
        # The number may have been given to another since; nobody else has this directory in its command line.
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            return None
        return process if str(self.directory).encode() in command and process.alive else None

    def _claimed(self) -> int:
        """The number of the shell. An attempt that no shell has claimed is claimed here, so that none ever will."""
        try:
            os.close(os.open(self._pid, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        except FileExistsError:
            # The shell makes the file and writes into it in two steps; it may have been killed between them.
            while not (content := self._pid.read_text()) and abs(time.time() - self.started) < _CLAIM_SECONDS:
                time.sleep(_LOOK_SECONDS)
            return int(content or 0)
        return 0

    def is_void(self) -> bool:
        """Whether the command has never run and never will: we were killed before its shell began."""
        return self._claimed() == 0

    def exit_code(self) -> int | None:
        """How the command ended; None while its shell runs."""
        if (code := self._written()) is not None:
            return code
        if self.process() is not None:
            return None
        # It may have ended between the two looks.
        if (code := self._written()) is None:
            code = KILLED
            self._exit.write_text(f"{code}\n")
        return code

    def _written(self) -> int | None:
        try:
            return int(self._exit.read_text() or KILLED)
        except FileNotFoundError:
            return None

    def signal(self, number: int) -> None:
        """Sends a signal to everything that the container runs."""
        process = self.process()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(os.getpgid(process.pid), number)


def attempts(container: Path) -> list[Attempt]:
    """What is there of a container's attempts, the oldest first."""
    try:
        entries = list(container.iterdir())
    except FileNotFoundError:
        return []
    found = []
    for entry in entries:
        number, _, level = entry.name.partition("-")
        found.append(Attempt(entry, int(number), int(level)))
    return sorted(found, key=lambda attempt: attempt.number)


def following(container: Path, last: Attempt | None, well: bool) -> Attempt:
    """The attempt after `last`, whose level starts anew if that one was `well`. Of those before only `last` is kept."""
    if last is None:
        return Attempt(container / "0-0", 0, 0)
    for old in attempts(container):
        if old.number < last.number:
            remove_tree(old.directory)
    level = 0 if well else last.level + 1
    return Attempt(container / f"{last.number + 1}-{level}", last.number + 1, level)
