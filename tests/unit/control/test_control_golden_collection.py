"""Which imports newer ones have replaced (G3)."""

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.golden.collection import outdated
from ingot.control.golden.imports import Import
from ingot.control.golden.wanted import wanted_of
from ingot.kube.cache import Cache

FIRST, SECOND, THIRD, FOURTH = (f"sha256:{letter * 64}" for letter in "abcd")


def kept(digest: str, used: int, storage_class: str = "fast") -> Import:
    notes = {names.DESIRED_DIGEST: digest, names.LAST_USE: f"2026-01-01T00:00:{used:02}.000000Z"}
    metadata: Object = {"name": f"fedora-{digest[7:19]}-{storage_class}", "namespace": "golden", "annotations": notes}
    volume = {"metadata": metadata, "spec": {"pvc": {}}, "status": {"phase": "Succeeded"}}
    spec = {"storageClassName": storage_class, "volumeName": "v"}
    return Import(volume, {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}})


def goes(*imports: Import, at: Import, **spec: object) -> list[Import]:
    """What is outdated with that version served, which is the newest, in class fast."""
    template = {"spec": {"source": {"registry": {"url": "docker://a/b"}}, "pvc": {"storageClassName": "fast"}}}
    cron = {
        "metadata": {"name": "fedora", "namespace": "golden", "annotations": {names.DESIRED_DIGEST: at.digest}},
        "spec": {"managedDataSource": "fedora", "template": template, **spec},
    }
    link = {"spec": {"source": {"pvc": {"namespace": "golden", "name": at.name}}}}
    return outdated(cron, wanted_of(cron, Cache()), link, list(imports))


def test_the_longest_unused_versions_go() -> None:
    first, second, third, fourth = (kept(each, at) for at, each in enumerate((FIRST, SECOND, THIRD, FOURTH)))
    assert goes(first, second, third, fourth, at=fourth) == [first]
    assert goes(first, second, third, fourth, at=fourth, importsToKeep=1) == [third, second, first]
    assert goes(first, second, third, fourth, at=fourth, garbageCollect="Never") == []


def test_a_copy_in_another_class_is_no_version_of_its_own_and_goes_first() -> None:
    first, second, copy, third = kept(FIRST, 1), kept(SECOND, 2), kept(THIRD, 3, "slow"), kept(THIRD, 4)
    assert goes(first, second, copy, third, at=third) == [copy]


def test_of_an_older_version_the_copy_in_the_wanted_class_stays() -> None:
    here, there, second, third = kept(FIRST, 1), kept(FIRST, 2, "slow"), kept(SECOND, 3), kept(THIRD, 4)
    assert goes(here, there, second, third, at=third) == [there]
    assert goes(here, there, second, third, at=third, importsToKeep=2) == [there, here]


def broken(found: Import) -> Import:
    """One that served, and has failed since."""
    return Import({**(found.volume or {}), "status": {"phase": "Failed"}}, found.claim)


def test_a_version_that_has_failed_since_it_served_is_the_first_to_go() -> None:
    first, second, third, fourth = (kept(each, at) for at, each in enumerate((FIRST, SECOND, THIRD, FOURTH)))
    lost = broken(third)
    assert goes(first, second, lost, fourth, at=fourth) == [lost]
    assert goes(second, lost, fourth, at=fourth) == []
    here, there = broken(kept(SECOND, 3)), kept(SECOND, 2, "slow")
    assert goes(here, there, fourth, at=fourth) == [here]


def test_a_version_that_is_on_its_way_again_is_not_collected() -> None:
    first, second = kept(FIRST, 1), kept(SECOND, 2)
    again = Import({**(first.volume or {}), "status": {"phase": "ImportInProgress"}}, None)
    assert goes(again, second, at=second, importsToKeep=1) == []
    assert goes(first, second, at=second, importsToKeep=1) == [first]


def test_a_version_that_is_served_from_a_class_that_is_not_wanted_stays() -> None:
    first, second = kept(FIRST, 1), kept(SECOND, 2, "slow")
    assert goes(first, second, at=second) == []
