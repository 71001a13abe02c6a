"""Long messages on a terminal, and each of them once."""

import click
import pytest

from ingot.api.object import Object
from ingot.cli import doctor, portrait
from ingot.cli.vm.describe import once
from ingot.cli.wrap import hanging
from ingot.node.doctor.check import fail

LONG = " ".join(["the machine starts by itself once there is room in its pool"] * 4)
NO_ROOM = {"type": "Synchronized", "status": "False", "reason": "NoRoom", "message": LONG}


def event(name: str, message: str, **more: object) -> Object:
    seen = {"metadata": {"name": name}, "reason": "NoRoom", "message": message, "type": "Warning"}
    return {**seen, "source": {"component": "virtualmachineinstance-controller"}, **more}


def test_text_hangs_below_its_beginning() -> None:
    assert hanging("a  ", "b c", None) == ["a  b c"]
    assert hanging("a  ", "", 80) == ["a"]
    first, second = hanging("head  ", "word " * 10, 40)
    assert (len(first) <= 40, second.startswith("      word")) == (True, True)


def test_no_line_is_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portrait, "terminal_width", lambda: 80)
    monkeypatch.setattr(doctor, "terminal_width", lambda: 80)
    told = [
        portrait.conditions_table([NO_ROOM]),
        portrait.events_table([event("a", LONG)]),
        doctor._text([fail("qemu protocols", LONG, LONG)]),
    ]
    for text in told:
        assert max(map(len, click.unstyle(text).splitlines())) <= 80
        assert "itself once" in text
    assert portrait.conditions_table([{**NO_ROOM, "message": "full"}]).splitlines()[1].endswith("MESSAGE")
    monkeypatch.setattr(portrait, "terminal_width", lambda: None)
    assert portrait.events_table([event("a", LONG)]).splitlines()[-1].endswith(LONG)


def test_a_message_is_said_once() -> None:
    events = [event("a", LONG, count=3), event("b", "else"), event("c", LONG), event("d", "else", count=2)]
    shown = [(each["message"], each["count"]) for each in once(events, [NO_ROOM])]
    assert shown == [("see condition Synchronized", 4), ("else", 3)]
