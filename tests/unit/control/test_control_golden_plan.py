"""What is done for a cron, by what is there (G3)."""

from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.golden.imports import Import
from ingot.control.golden.making import source_digest
from ingot.control.golden.plan import Plan, plan
from ingot.control.golden.wanted import import_name, wanted_of
from ingot.kube.cache import Cache

OLD, NEW, NEWER = (f"sha256:{letter * 64}" for letter in "abc")


def cron(newest: str = NEW, current: str = "", **annotations: str) -> Object:
    told = {getattr(names, key): text for key, text in annotations.items()}
    if newest:
        told[names.DESIRED_DIGEST] = newest
    template = {"spec": {"source": {"registry": {"url": "docker://a/b"}}, "pvc": {"storageClassName": "fast"}}}
    status = {"currentImports": [{"DataVolumeName": name_of(current), "Digest": current}]} if current else {}
    return {
        "metadata": {"name": "fedora", "namespace": "golden", "annotations": told},
        "spec": {"managedDataSource": "fedora", "template": template},
        "status": status,
    }


def name_of(digest: str) -> str:
    return f"fedora-{digest[7:19]}"


def made(digest: str, phase: str = "Succeeded", storage_class: str = "fast", **conditions: Object) -> Import:
    metadata: Object = {"name": name_of(digest), "namespace": "golden", "annotations": {names.DESIRED_DIGEST: digest}}
    told = [{"type": kind, **words} for kind, words in conditions.items()]
    spec: Object = {"source": {"registry": {"url": f"docker://a/b@{digest}"}}, "pvc": {}}
    volume = {"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": told}}
    if phase != "Succeeded":
        return Import(volume, {"metadata": metadata, "spec": {"storageClassName": storage_class}})
    spec = {"storageClassName": storage_class, "volumeName": "v"}
    return Import(volume, {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}})


def says(found: Import, phase: str, **notes: str) -> Import:
    """One that was complete, of whose DataVolume something else is said."""
    volume: Any = {**(found.volume or {}), "status": {"phase": phase}}
    volume["metadata"] = {**volume["metadata"], "annotations": {**volume["metadata"]["annotations"], **notes}}
    return Import(volume, found.claim)


def failed(digest: str, at: str) -> Import:
    return made(digest, "Failed", Ready={"status": "False", "message": "no disk", "lastHeartbeatTime": at})


def planned(found: Object, *imports: Import) -> Plan:
    return plan(found, wanted_of(found, Cache()), list(imports))


def test_nothing_is_done_before_a_version_is_known() -> None:
    assert planned(cron("")) == Plan()
    assert planned(cron("not a digest"), made(OLD)) == Plan()


def test_a_new_version_is_imported_and_served_when_complete() -> None:
    assert planned(cron(), made(OLD)) == Plan(begin=True)
    assert planned(cron(), made(OLD), made(NEW, "ImportInProgress")) == Plan()
    done = made(NEW)
    assert planned(cron(), made(OLD), done).target == done


def test_a_tag_that_moves_back_takes_the_version_that_is_kept() -> None:
    old, overtaken = made(OLD), made(NEW, "ImportInProgress")
    assert planned(cron(OLD), old, overtaken) == Plan(old, drop=[overtaken])


def test_one_that_was_begun_is_let_finish_and_then_is_served() -> None:
    """Versions may come faster than they can be imported."""
    assert planned(cron(NEWER), made(OLD), made(NEW, "ImportInProgress")) == Plan()
    looked_at = {"reason": "SizeDetectionPodNotReady", "message": "the size of the image is looked for"}
    assert planned(cron(NEWER), made(OLD), made(NEW, "ImportScheduled", Ready=looked_at)) == Plan()
    done = made(NEW)
    assert planned(cron(NEWER, current=NEW), made(OLD), done) == Plan(done, begin=True)


def test_one_that_gets_nowhere_makes_room() -> None:
    stuck = made(NEW, "ImportScheduled", Running={"status": "False", "message": "it is not there; tried again in 5 s"})
    assert planned(cron(NEWER), made(OLD), stuck) == Plan(begin=True, drop=[stuck])


def test_one_that_has_failed_is_tried_again_after_the_next_look() -> None:
    bad = failed(NEW, "2026-01-01T12:00:00Z")
    assert planned(cron(LAST_CRON_TIME="2026-01-01T11:00:00Z"), made(OLD), bad) == Plan()
    assert planned(cron(LAST_CRON_TIME="2026-01-01T13:00:00Z"), made(OLD), bad) == Plan(anew=[bad])
    silent = {"LAST_CRON_TIME": "2026-01-01T13:00:00Z", "UNREACHABLE_SINCE": "2026-01-01T12:30:00Z"}
    assert planned(cron(**silent), made(OLD), bad) == Plan()
    assert planned(cron(NEWER), made(OLD), bad) == Plan(begin=True, drop=[bad])


def test_what_is_pinned_is_served_and_nothing_newer_is_imported() -> None:
    old = made(OLD)
    assert planned(cron(PINNED=OLD), old, made(NEW)).target == old
    assert planned(cron(NEWER, PINNED=OLD), old, made(NEW)) == Plan(old)
    assert planned(cron(PINNED=NEWER), old) == Plan()
    assert planned(cron(PINNED=NEW), old) == Plan(begin=True)


@pytest.mark.parametrize("pin", ["newest", "sha256:3f2a1b9c", NEW[7:], NEW.upper()])
def test_what_is_pinned_to_no_digest_stays_where_it_is(pin: str) -> None:
    old = made(OLD)
    assert planned(cron(PINNED=pin), old) == Plan()
    assert planned(cron(PINNED=pin), old, made(NEW)) == Plan()
    assert planned(cron(current=NEW, PINNED=pin), old, made(NEW)) == Plan()


def test_another_storage_class_means_another_import_beside_the_first() -> None:
    before = made(NEW, storage_class="slow")
    found = cron()
    assert planned(found, before) == Plan(begin=True)
    name = import_name(found, wanted_of(found, Cache()), [before])
    assert name.startswith(f"{name_of(NEW)}-")
    assert import_name(found, wanted_of(found, Cache()), []) == name_of(NEW)
    # A version that is only kept is good wherever it is.
    assert planned(cron(NEWER, PINNED=NEW), before).target == before


def test_what_is_about_to_go_serves_nobody() -> None:
    going: Any = made(NEW)
    going.claim["metadata"] = {**going.claim["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert planned(cron(), made(OLD), going) == Plan()


def test_a_version_whose_claim_is_not_to_be_seen_is_not_taken_for_one_that_never_came() -> None:
    lost = Import(made(OLD).volume, None)
    assert planned(cron(), lost, made(NEW)).drop == []


def test_an_import_that_was_given_a_foreign_volume_is_tried_again_and_overtaken_as_any_other() -> None:
    bad = failed(NEW, "2026-01-01T12:00:00Z")
    claim: Any = made(NEW).claim
    claim["metadata"]["annotations"][names.FAILURE] = '{"reason": "ForeignVolume", "message": "not filled for it"}'
    foreign = Import(bad.volume, claim)
    assert planned(cron(LAST_CRON_TIME="2026-01-01T13:00:00Z"), made(OLD), foreign) == Plan(anew=[foreign])
    assert planned(cron(NEWER), made(OLD), foreign) == Plan(begin=True, drop=[foreign])


def test_a_version_that_served_and_has_lost_its_volume_is_not_taken_from_those_who_use_it() -> None:
    lost = failed(NEW, "2026-01-01T12:00:00Z")
    lost.any["metadata"]["annotations"][names.LAST_USE] = "2026-01-01T11:00:00.000000Z"
    assert planned(cron(LAST_CRON_TIME="2026-01-01T13:00:00Z"), made(OLD), lost) == Plan(drop=[lost])


@pytest.mark.parametrize("phase", ["", "Pending", "ImportScheduled", "Failed"])
def test_a_version_that_was_complete_is_none_that_never_came_whatever_its_phase_says(phase: str) -> None:
    asked = {"LAST_CRON_TIME": "2026-01-01T13:00:00Z"}
    bound = says(made(OLD), phase)
    served = says(Import(made(OLD).volume, None), phase, **{names.LAST_USE: "2026-01-01T11:00:00.000000Z"})
    for old in (bound, served):
        assert planned(cron(**asked), old, made(NEW)).drop == []
    assert planned(cron(OLD, **asked), bound, made(NEW)).drop == []


def test_a_version_that_says_again_that_it_is_complete_is_not_served_as_if_it_had_just_come() -> None:
    again = says(made(OLD), "Succeeded", **{names.LAST_USE: "2026-01-01T11:00:00.000000Z"})
    assert planned(cron(NEWER, current=OLD), again, made(NEW), made(NEWER, "ImportInProgress")).target is None


def elsewhere(found: Import, **source: str) -> Import:
    """The same, made by a cron with another source."""
    before = cron()
    before["spec"]["template"]["spec"]["source"]["registry"] |= source
    found.any["metadata"]["annotations"][names.IMPORT_SOURCE] = source_digest(before)
    return found


@pytest.mark.parametrize("source", [{"url": "docker://a/other"}, {"secretRef": "of-before"}])
def test_what_a_cron_of_before_imports_from_elsewhere_goes_and_what_it_has_imported_stays(
    source: dict[str, str],
) -> None:
    stray = elsewhere(made(NEW, "ImportInProgress"), **source)
    assert planned(cron(""), stray) == Plan(drop=[stray])
    assert planned(cron(NEW), stray) == Plan(anew=[stray])
    assert planned(cron(NEWER), stray) == Plan(begin=True, drop=[stray])
    whole = elsewhere(made(NEW), **source)
    assert planned(cron(NEW), whole) == Plan(whole)


def test_what_a_cron_of_before_has_imported_from_elsewhere_is_not_served_because_it_is_complete_now() -> None:
    stray = elsewhere(made(NEW), url="docker://a/other")
    assert planned(cron(NEWER, current=NEW), made(OLD), stray).target is None
    assert planned(cron(NEWER, current=NEW), made(OLD), made(NEW)).target == made(NEW)


def test_what_a_cron_of_before_imports_from_another_tag_of_the_same_repository_is_let_finish() -> None:
    under_way = elsewhere(made(NEW, "ImportInProgress"), url="docker://a/b:stable")
    assert planned(cron(NEW), under_way) == Plan()


@pytest.mark.parametrize("noted", [True, False])
def test_an_import_whose_source_a_policy_has_rewritten_is_let_finish(noted: bool) -> None:
    """Made anew it would be rewritten again, without end."""
    under_way = made(NEW, "ImportInProgress")
    rewritten: Any = {"registry": {"url": f"docker://mirror/a/b@{NEW}", "certConfigMap": "ca"}}
    under_way.any["spec"]["source"] = rewritten
    if noted:
        elsewhere(under_way)
    assert planned(cron(NEW), under_way) == Plan()
    assert planned(cron(NEWER), under_way) == Plan()
