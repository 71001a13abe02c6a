"""What the status of a machine's snapshot and of its content says (F5)."""

from ingot.api.object import Object
from ingot.control.snapshots.content_status import torn

TAKEN: Object = {"status": {"creationTime": "2023-11-14T22:13:20Z"}}


def test_what_is_missing_after_a_failure_does_not_hide_it() -> None:
    found = {"data": TAKEN, "more": None}
    assert "VolumeSnapshot more is missing" in torn(found, copied=False, now=0.0)
    assert torn(found, copied=False, now=0.0, known="disk on fire") == "disk on fire"
