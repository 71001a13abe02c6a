"""What goes with a golden image, and what keeps it from going."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import (
    CLASSIC_VMS,
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    INSTANCES,
    MACHINES,
    PODS,
    REPLICA_SETS,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.api.status import ApiError
from ingot.cli.golden.found import Golden, assemble
from ingot.cli.golden.holders import holders_of
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.rm import _ended, _parts, _refuse_held, rm
from ingot.control.golden.holding import ALL, FAR

PLACE = "golden-images"
CLAIM = f"fedora-{'1' * 12}"


def version(name: str = CLAIM, **labels: str) -> Kept:
    notes = {names.DESIRED_DIGEST: f"sha256:{'1' * 64}", names.VERSION: "40"}
    head = {"name": name, "namespace": PLACE, "uid": name, "annotations": notes, "labels": labels}
    return Kept({"metadata": head, "spec": {}, "status": {"phase": "Succeeded"}}, None)


def link(name: str, source: Object, at: str = CLAIM) -> Object:
    end = {"source": {"pvc": {"namespace": PLACE, "name": at}}}
    return {"metadata": {"name": name, "namespace": PLACE}, "spec": {"source": source}, "status": end}


def follower(name: str = "fedora", **spec: str) -> Object:
    head = {"name": name, "namespace": PLACE}
    return {"metadata": head, "spec": {"managedDataSource": "fedora", **spec}}


def to(claim: str) -> Object:
    return {"pvc": {"namespace": PLACE, "name": claim}}


FEDORA = link("fedora", to(CLAIM))


def images(*links: Object, cron: Object | None = None, kept: Kept | None = None) -> dict[str, Golden]:
    found = assemble([FEDORA, *links], [cron or follower()], [kept or version()])
    return {each.name: each for each in found}


def test_what_an_image_merely_points_to_does_not_go_with_it() -> None:
    stable = link("stable", {"dataSource": {"namespace": PLACE, "name": "fedora"}})
    found = images(stable, link("frozen", to(CLAIM)))
    assert found["stable"].current == found["frozen"].current == found["fedora"].current
    assert [each.word for each in _parts(found["stable"])] == ["datasource/stable"]
    assert [each.word for each in _parts(found["frozen"])] == ["datasource/frozen"]
    assert [each.word for each in _parts(found["fedora"])] == ["datasource/fedora", f"datavolume/{CLAIM}"]


def test_what_its_cron_has_made_goes_with_it_whatever_its_name() -> None:
    made = version(f"earlier-{'1' * 12}", **{names.IMPORT_CRON: "nightly"})
    (found,) = assemble([FEDORA], [follower("nightly")], [made])
    assert [each.word for each in _parts(found)] == ["datasource/fedora", f"datavolume/earlier-{'1' * 12}"]


def holders() -> Iterator[tuple[Resource, Object]]:
    """One of each kind, in the image's namespace."""
    reads = {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": CLAIM}}]}
    origin = {"kind": VOLUME_CLAIMS.kind, "name": CLAIM}
    yield MACHINES, {"runStrategy": "Halted", "template": {"spec": reads}}
    yield INSTANCES, {"volumes": [{"name": "root", "ephemeral": reads["volumes"][0]}]}
    yield REPLICA_SETS, {"replicas": 0, "template": {"spec": reads}}
    yield CLASSIC_VMS, reads
    yield DATA_VOLUMES, {"source": to(CLAIM)}
    yield CLONE_SOURCES, {"source": origin}
    yield VOLUME_CLAIMS, {"dataSource": origin}
    yield DATA_SOURCES, {"source": to(CLAIM)}
    yield SNAPSHOTS, {"source": {"persistentVolumeClaimName": CLAIM}}
    yield PODS, reads


def user(spec: Object, **metadata: object) -> Object:
    return {"metadata": {"name": "user", "namespace": PLACE, **metadata}, "spec": spec}


@pytest.mark.parametrize(("resource", "spec"), [*holders()], ids=lambda each: getattr(each, "kind", ""))
def test_every_kind_that_holds_a_version_keeps_the_image(resource: Resource, spec: Object) -> None:
    image = images()["fedora"]
    held = holders_of(image, resource, [user(spec)])
    with pytest.raises(click.ClickException) as refused:
        _refuse_held(image, held)
    assert f'40@11111111, in {CLAIM}, by {resource.kind} "{PLACE}/user"' in refused.value.message
    assert "Remove those first" in refused.value.message
    assert "`ingot golden rm fedora --keep-images`" in refused.value.message


def test_all_kinds_that_the_garbage_collection_knows_are_tried() -> None:
    assert [each for each, _ in holders()] == [each for each, _ in ALL]


def test_a_clone_in_another_namespace_is_looked_for_there() -> None:
    image = images()["fedora"]
    begun = user({"source": to(CLAIM)}, namespace="lab")
    assert DATA_VOLUMES in FAR
    assert holders_of(image, DATA_VOLUMES, [begun]) == {(PLACE, CLAIM): 'DataVolume "lab/user"'}
    assert not holders_of(image, DATA_VOLUMES, [{**begun, "status": {"phase": "Succeeded"}}])


def test_a_clone_source_of_another_namespace_counts_only_where_it_is_made_for_a_datavolume() -> None:
    image = images()["fedora"]
    spec = dict(holders())[CLONE_SOURCES]
    said = {"namespace": "lab", "annotations": {names.SOURCE_NAMESPACE: PLACE}}
    maker = {"kind": "DataVolume", "uid": "1", "controller": True}
    assert not holders_of(image, CLONE_SOURCES, [user(spec, **said)])
    assert not holders_of(image, CLONE_SOURCES, [user(spec, **said, ownerReferences=[maker])])
    made = user(spec, **said | {"name": f"{names.CLONE_SOURCE_PREFIX}1"}, ownerReferences=[maker])
    assert holders_of(image, CLONE_SOURCES, [made])


def test_what_is_the_images_own_does_not_keep_it() -> None:
    image = images()["fedora"]
    assert not holders_of(image, DATA_SOURCES, [FEDORA])
    reads = dict(holders())[PODS]
    filling = user(reads, annotations={names.PRIME_FOR: f"{PLACE}/{CLAIM}"})
    made = user(reads, ownerReferences=[{"uid": CLAIM, "controller": True}])
    going = user(reads, deletionTimestamp="2026-01-01T00:00:00Z")
    assert not holders_of(image, PODS, [filling, made, going])
    _refuse_held(image, {})


def test_who_only_ends_the_following_is_told_of_the_pin_that_is_lost() -> None:
    assert _ended(images()["fedora"]) == "fedora is followed no more, and stands for 40@11111111"
    cron = follower()
    cron["metadata"]["annotations"] = {names.PINNED: f"sha256:{'1' * 64}"}
    assert "its pin is gone: `ingot golden add`" in _ended(images(cron=cron)["fedora"])


def test_keeping_the_images_is_not_advised_where_they_would_go() -> None:
    image = images(cron=follower(retentionPolicy="None"))["fedora"]
    with pytest.raises(click.ClickException) as refused:
        _refuse_held(image, {(PLACE, CLAIM): 'Pod "golden-images/user"'})
    assert "--keep-images" not in refused.value.message


class Leaving:
    """In place of a client, for a cron that is gone by the time it is deleted; how that was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, object]] = []

    async def delete(self, resource: Resource, _name: str, _namespace: str, **options: object) -> Object:
        self.asked.append((resource.kind, options["propagation"]))
        raise ApiError(404, "NotFound", "it is not there")


def test_what_follows_an_image_does_not_take_the_name_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cluster's garbage collector does with what has no owner but one that is deleted in the foreground."""
    client = Leaving()

    async def found(_session: object, _name: str) -> Golden:
        cron = follower()
        cron["metadata"]["uid"] = "uid"
        return images(cron=cron)["fedora"]

    monkeypatch.setattr("ingot.cli.golden.found.find", found)
    monkeypatch.setattr(
        "ingot.cli.golden.rm.run", lambda _, work: asyncio.run(work(SimpleNamespace(client=client, wait=None)))
    )
    done = CliRunner().invoke(rm, ["fedora", "--keep-images"])
    assert done.exit_code == 0, done.output
    assert client.asked == [("DataImportCron", "Background")]
