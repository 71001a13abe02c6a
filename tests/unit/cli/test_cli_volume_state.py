"""How far a volume is, in words and as a bar."""

import io
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.cli.volume.board import Board
from ingot.cli.volume.state import is_over, line, waits_for_people, why

GIB = 1 << 30


def a_volume(phase: str, **status: Any) -> Object:
    return {"metadata": {"name": "v", "namespace": "n"}, "status": {"phase": phase, **status}}


def conditions(**messages: str) -> list[Object]:
    return [{"type": kind, "status": "False", "message": message} for kind, message in messages.items()]


def test_bytes_that_are_known_in_all_make_a_bar() -> None:
    moved = {"done": GIB, "total": 4 * GIB, "bytesPerSecond": 100 << 20, "secondsLeft": 31}
    said = line(a_volume("ImportInProgress", transfer=moved))
    assert said == f"ImportInProgress [{6 * '#'}{18 * '·'}] 25%, 1.0 GiB of 4.0 GiB, 100.0 MiB/s, 31s left"


def test_bytes_that_are_not_known_in_all_are_counted() -> None:
    said = line(a_volume("ImportInProgress", transfer={"done": 3 << 20, "bytesPerSecond": 1 << 20}))
    assert said == "ImportInProgress 3.0 MiB, 1.0 MiB/s"


def test_more_than_all_is_all() -> None:
    assert "] 100%" in line(a_volume("ImportInProgress", transfer={"done": 5, "total": 4}))


def test_what_it_waits_for_and_why_it_failed_is_said() -> None:
    queued = a_volume("ImportScheduled", conditions=conditions(Running="number 3 in the queue"))
    assert line(queued) == "ImportScheduled: number 3 in the queue"
    failed = a_volume("Failed", transfer={"done": 1}, conditions=conditions(Running="404, final", Ready="404"))
    assert (is_over(failed), line(failed)) == (True, "Failed: 404, final")


def test_a_volume_that_is_ready_needs_no_reason() -> None:
    assert line(a_volume("Succeeded", conditions=conditions(Running="Import Complete"))) == "Succeeded"


def test_an_upload_waits_for_people_until_its_first_byte() -> None:
    assert waits_for_people(a_volume("UploadReady"))
    assert waits_for_people(a_volume("PendingPopulation"))
    assert not waits_for_people(a_volume("UploadReady", transfer={"done": 1}))
    assert not waits_for_people(a_volume("ImportScheduled"))


def test_one_that_nobody_has_looked_at_is_pending() -> None:
    assert (line({"metadata": {}}), why({"metadata": {}})) == ("Pending", "")


def test_without_a_terminal_each_step_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Board() as board:
        board.show("v", a_volume("ImportInProgress", transfer={"done": 1}))
        board.show("v", a_volume("ImportInProgress", transfer={"done": 2}))
        board.show("v", a_volume("Succeeded"))
    assert capsys.readouterr().err.splitlines() == ["v: ImportInProgress 1 B", "v: Succeeded"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_all_lines_are_drawn_anew_and_go_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with Board() as board:
        board.show("one", a_volume("ImportInProgress", transfer={"done": 1, "total": 2}))
        board.show("another", a_volume("Pending"))
    shown = screen.getvalue()
    assert "one      ImportInProgress [" in shown
    assert shown.endswith("\033[2A\033[J")
