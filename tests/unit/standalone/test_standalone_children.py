"""Children: started again when they end, told of when they cannot work, gone when their server is."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from ingot.host.process import Process
from ingot.standalone import children
from ingot.standalone.children import Child, Children, state_of


async def reached(condition: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.01)


@pytest.fixture
async def run(tmp_path: Path) -> AsyncIterator[Callable[[str], Children]]:
    started = []

    def start(script: str) -> Children:
        made = Children(tmp_path, [Child("worker", [sys.executable, "-c", script])])
        made.start()
        started.append(made)
        return made

    yield start
    for each in started:
        await each.stop()


async def test_a_child_that_ends_is_started_again(
    run: Callable[[str], Children], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "FIRST_PAUSE", 0.01)
    run("print('hello', flush=True)")
    await reached(lambda: (state := state_of(tmp_path, "worker")) is not None and state.restarts >= 2)
    log = tmp_path / "worker.log"
    assert log.read_text().startswith("hello\nhello\n")
    assert log.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "worker.json").stat().st_mode & 0o777 == 0o600


async def test_the_pause_before_a_restart_doubles(
    run: Callable[[str], Children], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await real(0)

    monkeypatch.setattr("ingot.standalone.children.asyncio.sleep", sleep)
    made = run("raise SystemExit(1)")
    async with asyncio.timeout(20):
        while len(pauses) < 6:
            await real(0.01)
    await made.stop()
    assert pauses[:6] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


async def test_what_a_person_must_mend_is_told(run: Callable[[str], Children], tmp_path: Path) -> None:
    run("import sys; print('before'); print('Error: no libvirt; install it', file=sys.stderr); sys.exit(3)")
    await reached(lambda: (state := state_of(tmp_path, "worker")) is not None and state.state == "NeedsMending")
    state = state_of(tmp_path, "worker")
    assert state is not None
    assert state.message == "no libvirt; install it"


async def test_stop_ends_them_and_forgets_them(run: Callable[[str], Children], tmp_path: Path) -> None:
    made = run("import signal; signal.signal(15, lambda *_: exit(0)); print('up', flush=True); signal.pause()")
    await reached(lambda: (tmp_path / "worker.log").exists() and "up" in (tmp_path / "worker.log").read_text())
    state = state_of(tmp_path, "worker")
    assert state is not None
    assert state.state == "Running"
    await made.stop()
    assert not Process(state.pid, state.born).alive
    assert state_of(tmp_path, "worker") is None


def test_a_child_is_killed_when_its_server_is(tmp_path: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
from ingot.standalone.children import Child, Children
child = "import ingot.standalone.children as c; c.die_with_parent(); print('up', flush=True); c.time.sleep(9)"
async def main():
    Children(Path({str(tmp_path)!r}), [Child("worker", [sys.executable, "-c", child])]).start()
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    ) as server:
        log = tmp_path / "worker.log"
        asyncio.run(reached(lambda: log.exists() and "up" in log.read_text()))
        state = state_of(tmp_path, "worker")
        assert state is not None
        server.send_signal(signal.SIGKILL)
    assert asyncio.run(Process(state.pid, state.born).ended(5))
