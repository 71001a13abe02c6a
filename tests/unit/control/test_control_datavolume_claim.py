"""The claim and the Volume*Source that are made for a DataVolume (G1)."""

from typing import Any

import pytest

from ingot.api.cdi import names, size
from ingot.api.object import Object, name_of
from ingot.api.resources import SNAPSHOTS, VOLUME_CLAIMS
from ingot.control.volumes import claim, source
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.source import Operation
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.objects import controller_of

GIB = 1 << 30


def volume(given: Object | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {
            "name": "disk",
            "namespace": "lab",
            "uid": "u1",
            "labels": {"mine": "yes"},
            "annotations": annotations or {},
        },
        "spec": {"source": given or {"http": {"url": "http://a/b"}}, **spec},
    }


def storage_class(name: str, provisioner: str = "csi", mode: str = "Immediate", **annotations: str) -> Object:
    marks = {"default": "storageclass.kubernetes.io/is-default-class"}
    metadata = {"name": name, "annotations": {marks[key]: text for key, text in annotations.items()}}
    return {"metadata": metadata, "provisioner": provisioner, "volumeBindingMode": mode}


def cached(*objects: Object) -> Cache:
    cache = Cache()
    for obj in objects:
        cache.put(key_of(obj), obj)
    return cache


def asks(amount: str, **more: Any) -> Object:
    return {"resources": {"requests": {"storage": amount}}, **more}


LOCAL = storage_class("local", names.LOCAL_PROVISIONER, "WaitForFirstConsumer", default="true")
FAR = storage_class("far")


def test_a_pvc_spec_is_taken_as_it_is() -> None:
    wish = asks("1Gi", accessModes=["ReadWriteMany"], volumeMode="Block")
    assert claim.spec_of(volume(pvc=wish), None, GIB) == wish


def test_what_a_storage_spec_leaves_out_is_chosen() -> None:
    spec = claim.spec_of(volume(storage=asks("1Gi")), LOCAL, GIB)
    assert spec["accessModes"] == ["ReadWriteOnce"]
    assert spec["volumeMode"] == "Filesystem"
    assert spec["storageClassName"] == "local"
    assert spec["resources"]["requests"]["storage"] == "1Gi"


def test_a_filesystem_gets_room_for_itself_but_on_one_machine_and_in_blocks() -> None:
    far = claim.spec_of(volume(storage=asks("1Gi")), FAR, GIB)
    grown = int(far["resources"]["requests"]["storage"])
    assert grown == size.with_overhead(GIB) > GIB
    assert grown * (1 - size.FILESYSTEM_OVERHEAD) >= GIB > (grown - 1) * (1 - size.FILESYSTEM_OVERHEAD)
    block = claim.spec_of(volume(storage=asks("1Gi", volumeMode="Block")), FAR, GIB)
    assert block["resources"]["requests"]["storage"] == "1Gi"


def test_sizes_are_whole_mebibytes_before_they_grow() -> None:
    assert size.with_overhead(1) == size.with_overhead(1 << 20)


def test_a_clone_without_a_size_is_as_its_source() -> None:
    """A copy of a filesystem needs no more room than the filesystem has that it is copied from."""
    same = claim.spec_of(volume({"pvc": {}}, storage={}), FAR, GIB, "Filesystem")
    assert (same["volumeMode"], same["resources"]["requests"]["storage"]) == ("Filesystem", "1Gi")
    block = claim.spec_of(volume({"pvc": {}}, storage={}), FAR, GIB, "Block")
    assert (block["volumeMode"], block["resources"]["requests"]["storage"]) == ("Block", "1Gi")
    grown = claim.spec_of(volume({"pvc": {}}, storage={"volumeMode": "Filesystem"}), FAR, GIB, "Block")
    assert int(grown["resources"]["requests"]["storage"]) > GIB


def test_a_class_is_waited_for_unless_none_is_wanted() -> None:
    with pytest.raises(VolumeFault, match="no default StorageClass") as caught:
        claim.spec_of(volume(storage=asks("1Gi", accessModes=["ReadWriteOnce"])), None, GIB)
    assert (caught.value.reason, caught.value.final) == ("ErrClaimNotValid", False)
    with pytest.raises(VolumeFault, match='"gone" is not there'):
        claim.spec_of(volume(storage=asks("1Gi", storageClassName="gone")), None, GIB)
    said = claim.spec_of(volume(storage=asks("1Gi", accessModes=["ReadOnlyMany"], storageClassName="")), None, GIB)
    assert (said["accessModes"], said["storageClassName"]) == (["ReadOnlyMany"], "")
    with pytest.raises(VolumeFault, match=r"spec\.storage\.accessModes") as caught:
        claim.spec_of(volume(storage=asks("1Gi", storageClassName="")), None, GIB)
    assert caught.value.final


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"pvc": asks("1Gi", volumeMode="Block"), "contentType": "archive"}, "spec.pvc.volumeMode"),
        ({"storage": asks("1Gi", volumeMode="Block"), "contentType": "archive"}, "spec.storage.volumeMode"),
        ({"pvc": asks("1Gi", volumeName="pv")}, "spec.pvc.volumeName"),
    ],
)
def test_what_no_claim_can_be_made_of_is_final(spec: Object, field: str) -> None:
    with pytest.raises(VolumeFault, match=field) as caught:
        claim.spec_of(volume(**spec), FAR, GIB)
    assert caught.value.final


def test_the_class_is_the_named_one_or_the_newest_default() -> None:
    old, new = storage_class("old", default="true"), storage_class("new", default="true")
    old["metadata"]["creationTimestamp"], new["metadata"]["creationTimestamp"] = "2020", "2021"
    classes = cached(old, new, FAR)
    assert claim.class_of({}, classes) == new
    assert claim.class_of({"storageClassName": "far"}, classes) == FAR
    assert claim.class_of({"storageClassName": ""}, classes) is None
    assert claim.class_of({}, cached(FAR)) is None
    virt = storage_class("virt")
    virt["metadata"]["annotations"] = {"storageclass.kubevirt.io/is-default-virt-class": "true"}
    assert claim.class_of({}, cached(old, virt)) == virt


def test_the_claim_tells_what_cdi_tells() -> None:
    given = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        names.FAILURE: "forged",
        names.SELECTED_NODE: "forged",
        names.DELETE_WHEN_DONE: "true",
        "mine": "too",
    }
    made_for = volume(pvc=asks("1Gi"), annotations=given, preallocation=True, priorityClassName="high")
    reference = source.reference_to(made_for, Operation.IMPORT)
    made = claim.render(made_for, asks("1Gi"), reference, local=False)
    assert name_of(made) == "disk"
    assert made["metadata"]["annotations"] == {
        "mine": "too",
        names.POD_RESTARTS: "0",
        names.CONTENT_TYPE: "kubevirt",
        names.PREALLOCATION: "true",
        names.PRIORITY_CLASS: "high",
        names.CREATED_FOR: "u1",
    }
    labels = made["metadata"]["labels"]
    assert labels == {**names.APP_LABELS, "alerts.k8s.io/KubePersistentVolumeFillingUp": "disabled", "mine": "yes"}
    assert (controller_of(made) or {})["uid"] == "u1"
    assert made["spec"]["dataSourceRef"] == {
        "apiGroup": "cdi.kubevirt.io",
        "kind": "VolumeImportSource",
        "name": "volume-import-source-u1",
    }
    assert source.populator_of(made) is Operation.IMPORT


def test_a_claim_says_of_preallocation_what_its_volume_says_and_else_nothing() -> None:
    """What it said by itself would go before what the CDIConfig wishes."""
    volumes = (volume(preallocation=True), volume(preallocation=False), volume())
    told = [claim.render(each, {}, None, local=False)["metadata"]["annotations"] for each in volumes]
    assert [each.get(names.PREALLOCATION) for each in told] == ["true", "false", None]


def test_a_clone_tells_what_it_was_made_from_and_nothing_else_may() -> None:
    made_for = volume(annotations={names.CLONED_FROM: "forged"})
    assert names.CLONED_FROM not in claim.render(made_for, {}, None, local=False)["metadata"]["annotations"]
    made = claim.render(made_for, {}, None, local=False, origin=Key("golden-images", "fedora-0123456789ab"))
    assert made["metadata"]["annotations"][names.CLONED_FROM] == "golden-images/fedora-0123456789ab"


def test_local_volumes_do_not_wait_unless_they_are_told_to() -> None:
    classes = cached(LOCAL)
    at_once = claim.render(volume(), {}, None, local=True)
    assert not claim.waits_for_consumer(at_once, classes)
    told = claim.render(volume(annotations={names.IMMEDIATE: "false"}), {}, None, local=True)
    assert claim.waits_for_consumer(told, classes)
    told["metadata"]["annotations"][names.SELECTED_NODE] = "here"
    assert not claim.waits_for_consumer(told, classes)
    far = claim.render(volume(), {"storageClassName": "far"}, None, local=False)
    assert not claim.waits_for_consumer(far, cached(LOCAL, FAR))


def test_what_an_import_is_told() -> None:
    made = source.render(volume(contentType="archive", preallocation=False), {"http": {"url": "http://a/b"}})
    assert made["kind"] == "VolumeImportSource"
    assert made["spec"] == {"source": {"http": {"url": "http://a/b"}}, "contentType": "archive", "preallocation": False}
    assert (controller_of(made) or {})["uid"] == "u1"


def test_what_an_upload_is_told() -> None:
    made = source.render(volume({"upload": {}}), {"upload": {}})
    assert (made["kind"], made["spec"]) == ("VolumeUploadSource", {})


def test_what_a_clone_is_told_also_across_namespaces() -> None:
    """G10: the namespace is the DataVolume's word, whose maker was asked for the right."""
    near = source.render(volume(priorityClassName="high"), {"pvc": {"namespace": "lab", "name": "golden"}})
    assert near["spec"] == {
        "source": {"kind": "PersistentVolumeClaim", "name": "golden"},
        "priorityClassName": "high",
    }
    assert "annotations" not in near["metadata"]
    far = source.render(volume(), {"snapshot": {"namespace": "images", "name": "s"}})
    assert far["spec"]["source"] == {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    assert far["metadata"]["annotations"] == {names.SOURCE_NAMESPACE: "images"}
    assert far["metadata"]["namespace"] == "lab"


def test_others_fill_what_names_others() -> None:
    assert source.populator_of({"spec": {}}) is None
    assert source.populator_of({"spec": {"dataSourceRef": {"kind": "VolumeImportSource", "name": "a"}}}) is None
    foreign = {"apiGroup": "cdi.kubevirt.io", "kind": "Other", "name": "a"}
    assert source.populator_of({"spec": {"dataSourceRef": foreign}}) is None


def link(name: str, target: Object) -> Object:
    return {"metadata": {"name": name, "namespace": "images"}, "spec": {"source": target}}


def referring(name: str, namespace: str = "images") -> Object:
    made = volume()
    made["spec"] = {"sourceRef": {"kind": "DataSource", "name": name, "namespace": namespace}, "storage": {}}
    return made


def test_a_reference_is_followed() -> None:
    """G10."""
    pvc = {"pvc": {"namespace": "images", "name": "golden"}}
    links = cached(link("one", pvc), link("two", {"dataSource": {"namespace": "images", "name": "one"}}))
    assert source.resolve(referring("one"), links) == pvc
    assert source.resolve(referring("two"), links) == pvc
    assert [key.name for key in source.links(referring("two"), links)] == ["two", "one"]
    assert list(source.links(volume(), links)) == []
    near = referring("one")
    near["metadata"]["namespace"] = "images"
    del near["spec"]["sourceRef"]["namespace"]
    assert source.resolve(near, links) == pvc


@pytest.mark.parametrize(
    ("links", "why"),
    [
        ([], "is not there"),
        ([link("one", {})], "points to nothing"),
        ([link("one", {"dataSource": {"namespace": "images", "name": "two"}})], "images/two"),
        ([link("one", {"dataSource": {"namespace": "images", "name": "one"}})], "too many"),
    ],
)
def test_a_reference_that_leads_nowhere_is_waited_for(links: list[Object], why: str) -> None:
    with pytest.raises(VolumeFault, match=why) as caught:
        source.resolve(referring("one"), cached(*links))
    assert not caught.value.final


@pytest.mark.parametrize("kind", ["vddk", "imageio", "gcs"])
def test_sources_that_are_not_delivered_are_final(kind: str) -> None:
    with pytest.raises(VolumeFault, match=f"spec.source.{kind} is not delivered") as caught:
        source.resolve(volume({kind: {"url": "https://a/b"}}), cached())
    assert caught.value.final
    assert caught.value.reason == "SourceNotDelivered"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"imageStream": "a", "pullMethod": "node"}, "imageStream"),
        ({"url": "oci-archive:///a.tar"}, "url: oci-archive"),
    ],
)
def test_image_streams_and_archives_of_the_node_are_not_delivered(given: Object, field: str) -> None:
    with pytest.raises(VolumeFault, match=rf"spec\.source\.registry\.{field}") as caught:
        source.resolve(volume({"registry": given}), cached())
    assert caught.value.final


def test_sizes_of_what_is_cloned() -> None:
    bound = {"status": {"phase": "Bound", "capacity": {"storage": "2Gi"}}}
    assert size.of_origin(VOLUME_CLAIMS, bound) == 2 * GIB
    assert size.of_origin(VOLUME_CLAIMS, {"status": {"phase": "Pending"}}) is None
    assert size.of_origin(SNAPSHOTS, {"status": {"restoreSize": "1Gi"}}) == GIB
    assert size.of_origin(SNAPSHOTS, {}) is None
    assert size.requested({}) is None
    assert size.requested(asks("1500M")) == 1_500_000_000


@pytest.mark.parametrize(("said", "asked"), [(None, False), ("", True), ("true", True), ("false", False)])
def test_a_volume_is_filled_at_once_where_that_is_asked_for_without_a_word_too(said: str | None, asked: bool) -> None:
    """As `virtctl image-upload --force-bind` asks: it is the annotation that counts."""
    annotations = {} if said is None else {names.IMMEDIATE: said}
    assert claim.is_immediate({"metadata": {"annotations": annotations}}) is asked
