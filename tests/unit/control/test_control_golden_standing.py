"""What a cron says of itself: what, why, and what happens next (G3)."""

from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.golden.imports import Import
from ingot.control.golden.standing import Seen, told
from ingot.control.golden.wanted import wanted_of
from ingot.kube.cache import Cache
from ingot.kube.objects import condition

OLD, NEW = (f"sha256:{letter * 64}" for letter in "ab")
SOURCE = {"http": {"url": "https://user:word@images.example/disk.qcow2?signature=secret"}}


def cron(schedule: str = "@daily", **annotations: str) -> Object:
    notes = {getattr(names, key): text for key, text in annotations.items()}
    return {
        "metadata": {"name": "fedora", "namespace": "golden", "annotations": notes},
        "spec": {
            "managedDataSource": "fedora",
            "schedule": schedule,
            "template": {"spec": {"source": SOURCE, "pvc": {}}},
        },
    }


def kept(digest: str, phase: str = "Succeeded", **conditions: Object) -> Import:
    notes = {names.DESIRED_DIGEST: digest, names.VERSION: "v1"}
    metadata: Object = {"name": f"fedora-{digest[7:19]}", "namespace": "golden", "annotations": notes}
    entries = [{"type": kind, **words} for kind, words in conditions.items()]
    volume = {"metadata": metadata, "spec": {"pvc": {}}, "status": {"phase": phase, "conditions": entries}}
    return Import(volume, {"metadata": metadata, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}})


def says(found: Object, *imports: Import, at: Import | None = None, **seen: Any) -> tuple[str, str]:
    """Reason and message of UpToDate."""
    source = {"pvc": {"namespace": "golden", "name": at.name}} if at else {}
    link = {"metadata": {"name": "fedora"}, "spec": {"source": source}}
    made = told(found, Seen(wanted_of(found, Cache()), list(imports), link, **seen), 0.0)
    entry = condition(made, "UpToDate") or {}
    assert (entry["status"] == "True") == (entry["reason"] == "UpToDate")
    assert "secret" not in entry["message"]
    assert "word" not in entry["message"]
    return entry["reason"], entry["message"]


@pytest.mark.parametrize(
    ("schedule", "next_step"),
    [("@daily", "it is at once"), ("", "when ingot.io/check-now is set to another value"), ("never", "names no time")],
)
def test_before_the_first_look(schedule: str, next_step: str) -> None:
    reason, message = says(cron(schedule))
    assert reason == "NoImport"
    assert next_step in message
    assert "https://images.example/disk.qcow2" in message


def test_a_source_that_is_silent_is_named_once_with_since_when_why_and_until_when() -> None:
    why = "https://images.example/disk.qcow2: nothing listens there"
    silent = cron(DESIRED_DIGEST=OLD, UNREACHABLE_SINCE="then", UNREACHABLE_WHY=why, NEXT_CRON_TIME="soon")
    reason, message = says(silent, kept(OLD), at=kept(OLD))
    assert reason == "Unreachable"
    assert message == (
        "Unable to reach https://images.example/disk.qcow2 since then: nothing listens there; asked again at soon; "
        'DataSource "fedora" goes on standing for v1 (sha256:aaaaaaaaaaaa)'
    )


def test_what_is_about_to_be_imported_is_outdated_and_one_that_does_not_get_on_says_why() -> None:
    old = kept(OLD)
    assert says(cron(DESIRED_DIGEST=NEW), old, at=old)[0] == "Outdated"
    assert says(cron(DESIRED_DIGEST=NEW))[0] == "NoImport"
    stuck = kept(NEW, "ImportScheduled", Running={"status": "False", "message": "no room; tried again in 9 s"})
    reason, message = says(cron(DESIRED_DIGEST=NEW), old, stuck, at=old)
    assert reason == "ImportProgressing"
    assert "does not get on: no room" in message


def test_a_version_that_changes_its_class_says_from_where_to_where() -> None:
    found, old = cron(DESIRED_DIGEST=NEW, NEWEST_VERSION="v1"), kept(NEW)
    found["spec"]["template"]["spec"]["pvc"] = {"storageClassName": "fast"}
    assert old.claim is not None
    old.claim["spec"]["storageClassName"] = "slow"
    reason, message = says(found, old, at=old)
    assert reason == "Outdated"
    assert message == (
        'v1 (sha256:bbbbbbbbbbbb) is about to be imported into StorageClass "fast", where it is to be by now; '
        'DataSource "fedora" goes on standing for v1 (sha256:bbbbbbbbbbbb) in StorageClass "slow"'
    )


@pytest.mark.parametrize(("ready", "verb"), [("True", "stands for"), ("False", "waits for")])
def test_a_claim_that_is_nobodys_import_serves_once_it_is_there(ready: str, verb: str) -> None:
    found = cron(DESIRED_DIGEST=NEW)
    source = {"pvc": {"namespace": "golden", "name": "fedora"}}
    status = {"conditions": [{"type": "Ready", "status": ready}]}
    link = {"metadata": {"name": "fedora"}, "spec": {"source": source}, "status": status}
    entry = condition(told(found, Seen(wanted_of(found, Cache()), [], link), 0.0), "UpToDate") or {}
    assert entry["message"].endswith(f'DataSource "fedora" {verb} claim "golden/fedora"')


def test_the_next_look_is_yet_to_come() -> None:
    new = kept(NEW)
    _, message = says(cron(DESIRED_DIGEST=NEW, NEXT_CRON_TIME="noon"), new, at=new)
    assert message.endswith("; the next look is at noon")


def test_what_the_server_refuses_is_told() -> None:
    reason, message = says(cron(DESIRED_DIGEST=NEW), fault='DataVolume "x" was refused: exceeded quota')
    assert reason == "ImportFailed"
    assert "exceeded quota" in message


def test_a_version_that_was_lost_does_not_go_on_standing() -> None:
    lost = Import(kept(NEW).volume, None)
    reason, message = says(cron(DESIRED_DIGEST=NEW), lost, at=lost)
    assert (reason, "goes on" in message) == ("ImportProgressing", False)
    assert "points to v1 (sha256:bbbbbbbbbbbb), which cannot be cloned: it is not complete any more" in message


def test_what_the_datasource_says_of_its_version_is_told_and_nothing_of_one_that_it_has_left() -> None:
    old, found = kept(OLD), cron(DESIRED_DIGEST=NEW)
    source = {"pvc": {"namespace": "golden", "name": old.name}}
    for where, verb in ((source, "points to"), ({}, "goes on standing for")):
        status = {"source": where, "conditions": [{"type": "Ready", "status": "False", "message": "claim is gone"}]}
        link = {"metadata": {"name": "fedora"}, "spec": {"source": source}, "status": status}
        entry = condition(told(found, Seen(wanted_of(found, Cache()), [old], link), 0.0), "UpToDate") or {}
        assert f'DataSource "fedora" {verb} v1' in entry["message"]
        assert ("claim is gone" in entry["message"]) == (verb == "points to")


def test_a_version_that_has_its_volume_and_is_said_not_to_be_complete_is_not_imported_anew() -> None:
    odd = kept(NEW, "ImportScheduled")
    odd.any["metadata"]["annotations"][names.LAST_USE] = "2026-01-01T00:00:00.000000Z"
    reason, message = says(cron(DESIRED_DIGEST=NEW), odd, at=odd)
    assert reason == "Outdated"
    assert "about to be imported" not in message
    assert f'was imported into "{odd.name}", and is not complete: its phase is ImportScheduled' in message


def test_a_pin_at_the_newest_is_up_to_date() -> None:
    new = kept(NEW)
    assert says(cron(DESIRED_DIGEST=NEW, PINNED=NEW), new, at=new)[0] == "UpToDate"
    assert says(cron(DESIRED_DIGEST=NEW, PINNED=OLD), new, at=new)[0] == "Pinned"


def test_a_pin_that_is_no_digest_is_told_with_what_would_be() -> None:
    new = kept(NEW)
    reason, message = says(cron(DESIRED_DIGEST=NEW, PINNED="sha256:bbbb", UNREACHABLE_SINCE="then"), new, at=new)
    assert reason == "BadPin"
    assert message.startswith('ingot.io/pinned: "sha256:bbbb" is no digest')
    assert "sha256: and its 64 hexadecimal digits" in message
    assert "goes on standing for v1" in message


def test_one_whose_datasource_was_taken_away_is_in_no_conflict_with_another() -> None:
    found = cron(DESIRED_DIGEST=NEW)
    found["metadata"]["uid"] = "cron"
    link = {"metadata": {"name": "fedora", "ownerReferences": [{"uid": "cron"}]}, "spec": {"source": {}}}
    wanted = wanted_of(found, Cache())
    entry = condition(told(found, Seen(wanted, [], link), 0.0), "UpToDate") or {}
    assert entry["reason"] == "Unmanaged"
    assert "has lost the label" in entry["message"]
    rival = {"metadata": {"name": "older"}}
    assert (condition(told(found, Seen(wanted, [], link, rival), 0.0), "UpToDate") or {})["reason"] == "Conflict"


def test_a_status_that_has_not_changed_is_not_written_again() -> None:
    new = kept(NEW)
    found = cron(DESIRED_DIGEST=NEW, LAST_CRON_TIME="2026-01-01T00:00:00Z")
    link = {"metadata": {"name": "fedora"}, "spec": {"source": {"pvc": {"namespace": "golden", "name": new.name}}}}
    seen = Seen(wanted_of(found, Cache()), [new], link)
    first = told(found, seen, 0.0)
    assert told(first, seen, 1000.0) == first
