"""Attempts: real processes, found again by whoever looks."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from ingot.host.process import Process
from ingot.standalone.pods.attempt import KILLED, Attempt, attempts, following
from ingot.standalone.pods.user import User
from ingot.standalone.pods.view import look

ENVIRONMENT = {"PATH": os.environ["PATH"]}


async def started(directory: Path, *command: str, number: int = 0) -> Attempt:
    attempt = Attempt(directory / f"{number}-0", number, 0)
    attempt.make(User())
    await attempt.start(command, ENVIRONMENT, User())
    return attempt


async def said(attempt: Attempt) -> str:
    """The first that the command says."""
    async with asyncio.timeout(10):
        while not (text := attempt.log.read_text()):  # noqa: ASYNC110 - another process writes
            await asyncio.sleep(0.01)
    return text


async def code_of(attempt: Attempt) -> int:
    process = attempt.process()
    if process is not None:
        assert await process.ended(10)
    code = attempt.exit_code()
    assert code is not None
    return code


@pytest.mark.parametrize("code", [0, 7])
async def test_the_exit_code_is_there_for_those_who_were_not_the_parent(tmp_path: Path, code: int) -> None:
    attempt = await started(tmp_path, "sh", "-c", f"echo said; exit {code}")
    assert await code_of(attempt) == code
    assert attempt.log.read_text() == "said\n"
    assert attempt.log.stat().st_mode & 0o777 == 0o600
    assert attempts(tmp_path) == [attempt]


async def test_the_command_gets_sigterm_and_its_children_too(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", 'trap "exit 4" TERM; sleep 60 & echo $!; wait', number=3)
    child = Process.of(int(await said(attempt)))
    assert attempt.exit_code() is None
    attempt.signal(signal.SIGTERM)
    assert await code_of(attempt) == 4
    assert await child.ended(5)


async def test_what_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", 'trap "" TERM; echo ready; sleep 60 & wait')
    assert await said(attempt) == "ready\n"
    attempt.signal(signal.SIGTERM)
    assert attempt.process() is not None
    attempt.signal(signal.SIGKILL)
    assert await code_of(attempt) == KILLED


async def test_nothing_of_the_session_is_left_when_the_command_ends(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", "sleep 61 & echo $!")
    assert await code_of(attempt) == 0
    left = Process.of(int(attempt.log.read_text()))
    assert await left.ended(5)


async def test_the_command_dies_when_its_shell_is_killed_alone(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", "echo $$; exec sleep 62")
    command = Process.of(int(await said(attempt)))
    shell = attempt.process()
    assert shell is not None
    shell.signal(signal.SIGKILL)
    assert await code_of(attempt) == KILLED
    assert await command.ended(5)


def test_an_attempt_that_no_shell_has_claimed_is_void_and_taken_away(tmp_path: Path) -> None:
    Attempt(tmp_path / "0-0", 0, 0).make(User())
    view = look({"name": "c"}, tmp_path)
    assert view.attempt is None
    assert not (tmp_path / "0-0").exists()


async def test_a_claimed_attempt_is_run_by_no_second_shell(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", "echo once")
    assert await code_of(attempt) == 0
    await attempt.start(["sh", "-c", "echo twice"], ENVIRONMENT, User())
    await asyncio.sleep(0.05)
    assert "twice" not in attempt.log.read_text()


def test_a_number_that_was_given_to_another_process_is_not_taken_for_the_shell(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path / "0-0", 0, 0)
    attempt.make(User())
    (attempt.directory / "pid").write_text(f"{os.getpid()}\n")
    assert attempt.process() is None
    assert attempt.exit_code() == KILLED


def test_of_old_attempts_only_the_last_is_kept(tmp_path: Path) -> None:
    last = None
    for _ in range(4):
        last = following(tmp_path, last, well=False)
        last.make(User())
    assert [attempt.directory.name for attempt in attempts(tmp_path)] == ["2-2", "3-3"]
    assert following(tmp_path, last, well=True).directory.name == "4-0"


def test_the_pause_before_a_restart_doubles_from_the_second_on(tmp_path: Path) -> None:
    waits = []
    for level in range(8):
        attempt = Attempt(tmp_path / f"{level}-{level}", level, level)
        attempt.make(User())
        (attempt.directory / "pid").write_text("1")
        (attempt.directory / "exit").write_text("1")
        view = look({"name": "c"}, tmp_path)
        waits.append(view.backoff)
        assert view.restart_due(time.time()) <= view.backoff
    assert waits == [0, 10, 20, 40, 80, 160, 300, 300]


async def test_an_attempt_costs_little_memory(tmp_path: Path) -> None:
    attempt = await started(tmp_path, "sh", "-c", "echo up; exec sleep 60")
    await said(attempt)
    shell = attempt.process()
    assert shell is not None
    assert kilobytes(shell) < 1024
    attempt.signal(signal.SIGKILL)
    assert await code_of(attempt) == KILLED


def kilobytes(process: Process) -> int:
    """A process's share of the memory that it uses."""
    lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
