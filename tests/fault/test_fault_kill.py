"""kill -9 at any moment: what was acknowledged is there, and the revision has not gone back."""

from __future__ import annotations

import http.client
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from fault.talk import CONFIG_MAPS, Talk, config_map
from ingot_up import IngotUp

KILLS = 100
WRITERS = 4


class Writers:
    """Threads that create, change and delete without pause, and remember what was acknowledged."""

    def __init__(self, server: IngotUp) -> None:
        self.server = server
        self.lock = threading.Lock()
        # Name → the value last acknowledged; None once a delete was.
        self.acknowledged: dict[str, str | None] = {}
        # Names whose last request got no answer: either outcome is right.
        self.unsure: set[str] = set()
        self.revision = 0
        self.count = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(WRITERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        step = 0
        while not self._stop.is_set():
            talk = None
            try:
                talk = Talk(self.server, timeout=10)
                while not self._stop.is_set():
                    self._write(talk, f"w{number}-{step % 50}", str(step))
                    step += 1
            except (OSError, http.client.HTTPException):
                step += 1
                time.sleep(0.01)  # nothing to wait for: the server is being restarted by the test
            finally:
                if talk:
                    talk.close()

    def _write(self, talk: Talk, name: str, value: str) -> None:
        with self.lock:
            known = self.acknowledged.get(name)
            self.unsure.add(name)
        if known is None:
            code, answer = talk.ask("POST", CONFIG_MAPS, config_map(name, value))
        elif int(value) % 3 == 0:
            code, answer = talk.ask("DELETE", f"{CONFIG_MAPS}/{name}")
            value = ""
        else:
            code, answer = talk.ask("PUT", f"{CONFIG_MAPS}/{name}", config_map(name, value))
        with self.lock:
            self._note(name, value, code, answer)

    def _note(self, name: str, value: str, code: int, answer: dict[str, object]) -> None:
        if code in (200, 201):
            self.unsure.discard(name)
            self.acknowledged[name] = value or None
            self.count += 1
            metadata = answer["metadata"]
            assert isinstance(metadata, dict)
            if "resourceVersion" in metadata:
                self.revision = max(self.revision, int(metadata["resourceVersion"]))
        elif code in (404, 409):
            # The unanswered request before it had come through after all.
            self.acknowledged[name] = "" if code == 409 else None
        else:
            raise AssertionError(f"{name}: {code} {answer}")


def verify(server: IngotUp, writers: Writers) -> None:
    """Compares everything acknowledged before the kill with what is there after the restart."""
    talk = Talk(server)
    code, listed = talk.ask("GET", CONFIG_MAPS)
    talk.close()
    assert code == 200
    found = {item["metadata"]["name"]: item["data"]["key"] for item in listed["items"] if "key" in item.get("data", {})}
    with writers.lock:
        assert int(listed["metadata"]["resourceVersion"]) >= writers.revision
        for name, value in writers.acknowledged.items():
            if name in writers.unsure:
                continue
            if value is None:
                assert name not in found, f"{name} was deleted, and is back"
            elif value:
                assert found.get(name) == value, f"{name}: {found.get(name)} instead of {value}"


@pytest.mark.timeout(600)
def test_no_acknowledged_write_is_lost_and_no_revision_goes_back(tmp_path: Path) -> None:
    server = IngotUp(tmp_path / "data")
    server.__enter__()
    writers = Writers(server)
    try:
        for _ in range(KILLS):
            writers = _resumed(server, writers)
            writers.start()
            time.sleep(random.uniform(0.0, 0.15))  # noqa: S311  # the moment of the kill is what varies
            os.kill(server.process.pid, signal.SIGKILL)
            writers.stop()
            server.__exit__(None, None, None)
            server.__enter__()
            verify(server, writers)
    finally:
        server.__exit__(None, None, None)
    assert writers.count > KILLS


def _resumed(server: IngotUp, before: Writers) -> Writers:
    """Fresh threads that know what the ones before them were told, and what they could not know."""
    after = Writers(server)
    after.acknowledged = before.acknowledged
    after.revision, after.count = before.revision, before.count
    if before.unsure:
        talk = Talk(server)
        for name in before.unsure:
            code, answer = talk.ask("GET", f"{CONFIG_MAPS}/{name}")
            after.acknowledged[name] = answer["data"]["key"] if code == 200 else None
        talk.close()
    return after
