"""One list of volumes with two writers: neither wipes what the other wrote."""

from ingot.api.kubevirt.volume_status import merged


def test_each_writer_changes_its_own_fields() -> None:
    by_control = merged([], [{"name": "root", "persistentVolumeClaimInfo": {"claimName": "disk"}}, {"name": "seed"}])
    by_node = merged(by_control, [{"name": "root", "target": "vda", "size": 7, "progress": "50%"}])
    again = merged(by_node, [{"name": "root", "persistentVolumeClaimInfo": {"claimName": "disk"}, "phase": "Bound"}])
    assert again == [
        {
            "name": "root",
            "target": "vda",
            "persistentVolumeClaimInfo": {"claimName": "disk"},
            "size": 7,
            "progress": "50%",
            "phase": "Bound",
        },
        {"name": "seed", "target": ""},
    ]


def test_none_takes_a_field_away_and_what_was_given_stays_as_it_is() -> None:
    old = [{"name": "root", "target": "vda", "progress": "50%"}]
    assert merged(old, [{"name": "root", "progress": None}]) == [{"name": "root", "target": "vda"}]
    assert old == [{"name": "root", "target": "vda", "progress": "50%"}]
