"""Waiting for a golden image that nobody works on."""

from types import SimpleNamespace
from typing import cast

import pytest
from golden_images import PLACE, cron

from ingot.api.object import Object
from ingot.cli.connection import Session
from ingot.cli.golden import arrival
from ingot.cli.golden.found import Golden, assemble
from ingot.cli.volume.board import Board


def waiting(monkeypatch: pytest.MonkeyPatch, follower: Object) -> arrival.Arrival:
    monkeypatch.setattr(arrival, "PATIENCE_SECONDS", 0.0)
    made = arrival.Arrival(cast(Session, SimpleNamespace(client=None, namespace=PLACE)), "fedora")
    (golden,) = assemble([], [follower], [])
    monkeypatch.setattr(made, "_found", lambda: golden)
    return made


@pytest.mark.parametrize(
    ("status", "told"),
    [({}, "fedora: nobody has looked at it yet; do the controllers run?\n"), (cron("NoImport")["status"], "")],
)
async def test_who_waits_is_told_once_that_nobody_has_looked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], status: Object, told: str
) -> None:
    made = waiting(monkeypatch, {**cron(), "status": status})
    looks = 0

    def done(_golden: Golden) -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:
            made._changed.set()
        return looks == 3

    with Board() as board:
        await made._follow(done, board)
    assert capsys.readouterr().err == told
