"""When a snapshot has been taken, is still waited for, or will not be taken as things are."""

import pytest

from ingot.api.object import Object
from ingot.cli.volume.snapshot import Usable

BUSY = 'volume pvc-1 is in use by pod "web"; tried again in 5 s'
NONE = "there is no default VolumeSnapshotClass: name one"


def snapshot(ready: bool, error: str = "") -> Object:
    return {"status": {"readyToUse": ready, **({"error": {"message": error}} if error else {})}}


@pytest.mark.parametrize(
    ("found", "met", "seen"),
    [
        ({}, False, "it is being taken"),
        (snapshot(False), False, "it is being taken"),
        (snapshot(False, BUSY), False, BUSY),
        (snapshot(False, NONE), True, NONE),
        (snapshot(True, BUSY), True, "it is being taken"),
    ],
)
def test_what_is_tried_again_is_waited_for(found: Object, met: bool, seen: str) -> None:
    assert Usable().met(found or {"metadata": {}}) is met
    assert Usable().seen(found or {"metadata": {}}) == seen
