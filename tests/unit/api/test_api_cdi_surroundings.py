"""What is looked up when a DataVolume is made: its claim, its DataSource and what it is to be a clone of."""

from typing import Any

import pytest

from ingot.api.cdi import surroundings
from ingot.api.cdi.names import ADOPT, CONTENT_TYPE
from ingot.api.lookup import answered
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError

GOLDEN = {"namespace": "golden", "name": "fedora"}
CLONE: Object = {"source": {"pvc": GOLDEN}}
LINK: Object = {"sourceRef": {"kind": "DataSource", "name": "link"}}


def asks(size: str, **more: Any) -> Object:
    return {"resources": {"requests": {"storage": size}}, **more}


def claim(
    size: str = "1Gi", *, bound: bool = True, mode: str = "Filesystem", holds: str = "", given: str = ""
) -> Object:
    spec = {**asks(size), "volumeMode": mode, **({"volumeName": "pv"} if bound else {})}
    status = {"phase": "Bound", "capacity": {"storage": given or size}} if bound else {"phase": "Pending"}
    annotations = {CONTENT_TYPE: holds} if holds else {}
    return {"metadata": {**GOLDEN, "annotations": annotations}, "spec": spec, "status": status}


def snapshot(size: str = "1Gi", *, holds: str = "", made: str = "2026-01-02T00:00:00Z") -> Object:
    annotations = {CONTENT_TYPE: holds} if holds else {}
    spec = {"source": {"persistentVolumeClaimName": GOLDEN["name"]}}
    metadata = {**GOLDEN, "annotations": annotations, "creationTimestamp": made}
    return {"metadata": metadata, "spec": spec, "status": {"restoreSize": size}}


def link(namespace: str = "here", name: str = "link", **source: Object) -> Object:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"source": source}}


def check(spec: Object, annotations: dict[str, str] | None = None, name: str = "disk", **there: Object) -> None:
    """Makes a DataVolume in the namespace "here", where these are there, by plural."""
    plurals = {VOLUME_CLAIMS: "claim", SNAPSHOTS: "snapshot", DATA_SOURCES: "link"}
    found = {
        (plurals[kind], obj["metadata"]["namespace"], obj["metadata"]["name"]): obj
        for kind in plurals
        for key, obj in there.items()
        if key.rstrip("0123456789") == plurals[kind]
    }
    volume = {"metadata": {"name": name, "annotations": annotations or {}}, "spec": {"storage": {}, **spec}}
    answered(surroundings.check(volume, "here"), lambda kind, *place: found.get((plurals[kind], *place)))


def refused(spec: Object, **there: Object) -> tuple[str, str, str]:
    """Field, reason and message of the one fault."""
    with pytest.raises(ApiError) as caught:
        check(spec, **there)
    assert caught.value.code == 422
    (cause,) = (caught.value.details or {})["causes"]
    return cause["field"], cause["reason"], cause["message"]


@pytest.mark.parametrize(
    ("spec", "there"),
    [
        (CLONE, {}),
        (CLONE, {"claim": claim()}),
        ({**CLONE, "storage": asks("1Gi")}, {"claim": claim()}),
        ({**CLONE, "contentType": "archive"}, {"claim": claim(holds="archive")}),
        ({**CLONE, "contentType": "archive"}, {"claim": claim(bound=False)}),
        ({**CLONE, "contentType": "kubevirt"}, {"claim": claim()}),
        ({"source": {"snapshot": GOLDEN}}, {"snapshot": snapshot("1Gi")}),
        (LINK, {"link": link(pvc=GOLDEN)}),
        (LINK, {"link": link(pvc=GOLDEN), "claim": claim()}),
        (
            LINK,
            {
                "link": link(dataSource={"namespace": "here", "name": "next"}),
                "link2": link("here", "next", snapshot=GOLDEN),
            },
        ),
        ({"source": {"blank": {}}, "storage": asks("1Gi")}, {}),
    ],
)
def test_what_may_be_made(spec: Object, there: dict[str, Object]) -> None:
    check(spec, **there)


def test_a_link_must_lead_somewhere() -> None:
    assert refused(LINK)[:2] == ("spec.sourceRef", "FieldValueNotFound")
    assert 'DataSource "here/link" is not there' in refused(LINK)[2]
    field, reason, message = refused(LINK, link=link())
    assert (field, reason) == ("spec.sourceRef", "FieldValueInvalid")
    assert 'DataSource "here/link" points to nothing yet' in message
    ahead = link(dataSource={"namespace": "here", "name": "next"})
    assert 'DataSource "here/next" is not there' in refused(LINK, link=ahead)[2]
    third = link("here", "next", dataSource={"namespace": "here", "name": "last"})
    assert 'DataSource "here/last" is one too many' in refused(LINK, link=ahead, link2=third)[2]
    astray = link(dataSource={"namespace": "golden", "name": "next"})
    there = link("golden", "next", pvc=GOLDEN)
    assert 'follows DataSource "golden/next" of another namespace' in refused(LINK, link=astray, link2=there)[2]


@pytest.mark.parametrize(("spec", "field"), [(CLONE, "spec.source.pvc"), (LINK, "spec.sourceRef")])
@pytest.mark.parametrize(
    ("wanted", "held"), [("archive", ""), ("archive", "kubevirt"), ("kubevirt", "archive"), ("", "archive")]
)
def test_a_clone_holds_what_its_source_does(spec: Object, field: str, wanted: str, held: str) -> None:
    told = {"contentType": wanted} if wanted else {}
    cause = refused({**spec, **told}, claim=claim(holds=held), link=link(pvc=GOLDEN))
    assert cause[:2] == (field, "FieldValueInvalid")
    assert f"Source contentType ({held or 'kubevirt'})" in cause[2]
    assert f"spec.contentType: {held or 'kubevirt'} is expected" in cause[2]


@pytest.mark.parametrize(
    "there",
    [
        {"snapshot": snapshot(holds="archive")},
        {"snapshot": snapshot(holds="archive"), "claim": claim(holds="kubevirt")},
        {"snapshot": snapshot(), "claim": claim(holds="archive")},
    ],
)
def test_and_what_its_snapshot_does(there: dict[str, Object]) -> None:
    spec: Object = {"source": {"snapshot": GOLDEN}}
    field, _, message = refused(spec, **there)
    assert field == "spec.source.snapshot"
    assert 'VolumeSnapshot "golden/fedora" holds the files of an archive; spec.contentType: archive' in message
    check({**spec, "contentType": "archive"}, **there)


def test_a_claim_that_is_younger_than_the_snapshot_says_nothing_of_it() -> None:
    late = claim(holds="archive")
    late["metadata"]["creationTimestamp"] = "2026-01-03T00:00:00Z"
    check({"source": {"snapshot": GOLDEN}}, snapshot=snapshot(), claim=late)


@pytest.mark.parametrize("spec", [CLONE, LINK])
@pytest.mark.parametrize(
    ("wish", "origin"),
    [
        ({"pvc": asks("1023Mi")}, claim()),
        ({"pvc": asks("1023Mi")}, claim(bound=False)),
        ({"storage": asks("900Mi")}, claim()),
        ({"storage": asks("1023Mi", volumeMode="Block")}, claim()),
        ({"storage": asks("1023Mi")}, claim(mode="Block")),
    ],
)
def test_a_clone_is_not_smaller_than_its_source(spec: Object, wish: Object, origin: Object) -> None:
    ((where, asked),) = wish.items()
    message = refused({**spec, **wish}, claim=origin, link=link(pvc=GOLDEN))[2]
    size = asked["resources"]["requests"]["storage"]
    assert f"spec.{where}.resources.requests.storage: {size} is less than the 1Gi of PersistentVolume" in message


def test_nor_than_its_snapshot() -> None:
    spec = {"source": {"snapshot": GOLDEN}, "pvc": asks("1Mi")}
    assert refused(spec, snapshot=snapshot("2Mi"))[0] == "spec.source.snapshot"


def test_the_room_of_a_filesystem_is_added_to_what_storage_asks_for() -> None:
    check({**CLONE, "storage": asks("1023Mi")}, claim=claim())


def test_what_storage_gave_beyond_what_was_asked_for_does_not_count() -> None:
    check({**CLONE, "pvc": asks("1Gi")}, claim=claim(given="2Gi"))


def test_a_volume_that_takes_a_claim_needs_no_source() -> None:
    mine = {"metadata": {"namespace": "here", "name": "disk"}, "spec": asks("1Gi")}
    check(LINK, {ADOPT: "true"}, claim=mine)
    assert refused(LINK, claim=mine)[:2] == ("metadata.name", "FieldValueDuplicate")


def test_one_that_is_yet_to_be_named_is_looked_at_too() -> None:
    with pytest.raises(ApiError, match="is not there"):
        check(LINK, name="")
