import asyncio
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.standalone import daemon


class Service:
    """Counts what is done to it."""

    address = "https://127.0.0.1:1"

    def __init__(self, fails: bool = False) -> None:
        self.done: list[str] = []
        self.fails = fails

    async def start(self) -> None:
        self.done.append("start")
        if self.fails:
            raise OSError("no")
        await asyncio.sleep(0)

    async def stop(self) -> None:
        self.done.append("stop")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_runs_until_a_signal(number: signal.Signals) -> None:
    service = Service()
    told: list[str] = []

    def ready(address: str) -> None:
        told.append(address)
        threading.Timer(0.01, os.kill, [os.getpid(), number]).start()

    daemon.run(service, ready)
    assert (service.done, told) == (["start", "stop"], ["https://127.0.0.1:1"])


def test_a_service_that_does_not_start_is_not_stopped() -> None:
    service = Service(fails=True)
    with pytest.raises(OSError, match="no"):
        daemon.run(service, print)
    assert service.done == ["start"]


# Forking a test run with its threads is unwise: each detaches from a small process of its own.
DETACH = """
import os, sys
from pathlib import Path
from ingot.standalone.daemon import StartError, detach

def work(ready):
    os.write(1, b"to the log\\n")
    HOW
try:
    print(detach(Path(sys.argv[1]), work))
except StartError as error:
    print("refused:", error.why)
"""


def detached(log: Path, how: str) -> str:
    script = DETACH.replace("HOW", how)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(log)], capture_output=True, text=True, timeout=30, env=environment
    )
    assert done.stderr == ""
    return done.stdout.strip()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.005)
    return condition()


def test_detaching_returns_when_the_work_is_ready_and_the_work_goes_on(tmp_path: Path) -> None:
    log, done = tmp_path / "log", tmp_path / "done"
    how = (
        "ready(f'{os.getpid()} {os.getsid(0)}'); "
        f"import time; time.sleep(0.05); Path({str(done)!r}).write_text(str(os.getppid()))"
    )
    pid, session = detached(log, how).split()
    assert pid != session
    assert eventually(done.exists)
    assert log.read_text() == "to the log\n"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_work_that_fails_is_told_in_a_line_and_whole_in_the_log(tmp_path: Path) -> None:
    assert detached(tmp_path / "log", "raise RuntimeError('broken')") == "refused: broken"
    assert "Traceback" in (tmp_path / "log").read_text()


def test_work_that_vanishes_is_told(tmp_path: Path) -> None:
    told = detached(tmp_path / "log", "os._exit(3)")
    assert told == f"refused: the server ended before it was ready; see {tmp_path / 'log'}"


def test_a_large_log_starts_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    detached(log, "ready('x')")
    assert eventually(lambda: log.stat().st_size < 1024)
    assert (tmp_path / "log.1").stat().st_size == 11 * 1024 * 1024
