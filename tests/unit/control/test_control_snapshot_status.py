"""What the status of a machine's snapshot and of its content says (F5)."""

from ingot.api.kubevirt import phase
from ingot.api.object import Object
from ingot.control.snapshots.content_status import torn
from ingot.control.snapshots.snapshot_status import observe

MACHINE: Object = {"metadata": {"name": "vm", "namespace": "ns", "uid": "vm-uid"}}
TAKEN: Object = {"status": {"creationTime": "2023-11-14T22:13:20Z"}}
RUNNING: Object = {"metadata": {"name": "vm"}, "status": {"phase": phase.RUNNING}}


def test_a_snapshot_that_is_begun_again_forgets_a_guest_that_has_ended() -> None:
    snapshot: Object = {"metadata": {"name": "snap"}}
    observe(snapshot, MACHINE, RUNNING, [])
    assert snapshot["status"]["indications"] == ["Online", "NoGuestAgent"]
    observe(snapshot, MACHINE, None, [])
    assert not {"indications", "sourceIndications"} & snapshot["status"].keys()


def test_what_is_missing_after_a_failure_does_not_hide_it() -> None:
    found = {"data": TAKEN, "more": None}
    assert "VolumeSnapshot more is missing" in torn(found, copied=False, now=0.0)
    assert torn(found, copied=False, now=0.0, known="disk on fire") == "disk on fire"
