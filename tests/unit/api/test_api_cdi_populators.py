"""Volume{Import,Upload,Clone}Source and CDIConfig: every rule of CDI's webhook for them, by name (G1)."""

import pytest
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.cdi.uploadtoken import UploadTokenRequest
from ingot.api.machinery import resource_of
from ingot.api.resources import CDI_CONFIGS, CLONE_SOURCES, IMPORT_SOURCES, UPLOAD_SOURCES

V1BETA1 = "cdi.kubevirt.io/v1beta1"
HTTP = {"http": {"url": "https://images.example/a.qcow2"}}
IMAGEIO = {"imageio": {"url": "https://engine.example/api", "diskId": "1", "secretRef": "s", "certConfigMap": "c"}}
SNAPSHOT = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "a"}


def importing(**spec):
    return make(V1BETA1, "VolumeImportSource", spec=spec)


def uploading(**spec):
    return make(V1BETA1, "VolumeUploadSource", spec=spec)


def cloning(source, **spec):
    return make(V1BETA1, "VolumeCloneSource", spec={"source": source, **spec})


def config(name="config", **spec):
    return {"apiVersion": V1BETA1, "kind": "CDIConfig", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize(
    "given",
    [
        importing(source=HTTP),
        importing(source=HTTP, contentType="archive", preallocation=True, targetClaim="a"),
        importing(source={"blank": {}}),
        importing(source={"http": {"url": "http://a/" + "$" * 8183, "extraHeaders": ["A: " + "b" * 8189] * 32}}),
        importing(source={"nbd": {"url": "nbd://host/export"}}),
        importing(source={"registry": {"url": "docker://a", "pullMethod": "pod"}}),
        uploading(),
        uploading(contentType="archive", preallocation=False),
        cloning({"kind": "PersistentVolumeClaim", "name": "a"}),
        cloning({"kind": "PersistentVolumeClaim", "name": "a", "apiGroup": ""}, preallocation=True),
        cloning(SNAPSHOT, priorityClassName="high"),
        config(uploadProxyURLOverride="https://up.example", filesystemOverhead={"global": "0.06"}),
    ],
    ids=lambda given: given["kind"],
)
def test_what_is_accepted(given):
    assert stored(given) == given


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "spec.source: Required value"),
        ({"source": {}}, "spec.source: exactly one source is expected: one of http, registry, blank"),
        ({"source": {**HTTP, "blank": {}}}, "spec.source: exactly one source is expected"),
        ({"source": {"upload": {}}}, "spec.source.upload: unknown field"),
        ({"source": {"pvc": {"namespace": "a", "name": "b"}}}, "spec.source.pvc: unknown field"),
        ({"source": HTTP, "contentType": "iso"}, "spec.contentType: Unsupported value"),
        ({"source": {"blank": {}}, "contentType": "archive"}, "spec.contentType: a blank, registry or nbd source"),
        (
            {"source": {"registry": {"url": "docker://a"}}, "contentType": "archive"},
            "spec.contentType: a blank, registry or nbd source cannot give an archive; kubevirt is expected",
        ),
        (
            {"source": {"nbd": {"url": "nbd://a/b"}}, "contentType": "archive"},
            "spec.contentType: a blank, registry or nbd source",
        ),
        ({"source": {"http": {"url": "ftp://a"}}}, 'spec.source.http.url: Invalid value: "ftp://a"'),
        ({"source": {"http": {"url": "http://a/" + "$" * 8184}}}, "spec.source.http.url: Too long"),
        (
            {"source": {"http": {"url": "http://a", "extraHeaders": ["A: " + "b" * 8190]}}},
            "spec.source.http.extraHeaders[0]: Too long",
        ),
        (
            {"source": {"http": {"url": "http://a", "extraHeaders": ["A: b"] * 33}}},
            "spec.source.http.extraHeaders: Too many",
        ),
        ({"source": {"s3": {"url": ""}}}, "spec.source.s3.url: Invalid value"),
        ({"source": {"gcs": {"url": "s3://a/b"}}}, "spec.source.gcs.url: Invalid value"),
        ({"source": {"registry": {"url": "quay.io/a"}}}, "spec.source.registry.url: Invalid value"),
        ({"source": {"registry": {}}}, "spec.source.registry: exactly one of url and imageStream"),
        ({"source": {"imageio": {**IMAGEIO["imageio"], "diskId": ""}}}, "spec.source.imageio.diskId"),
        (
            {"source": IMAGEIO, "checkpoints": [{"previous": "", "current": "a"}]},
            "spec.targetClaim: a multi-stage",
        ),
    ],
)
def test_imports_that_are_refused(spec, why):
    assert why in refusal(importing(**spec))


def test_an_upload_has_one_of_two_content_types():
    assert "spec.contentType: Unsupported value" in refusal(uploading(contentType="iso"))


@pytest.mark.parametrize(
    "source",
    [
        {"kind": "VolumeSnapshot", "name": "a"},
        {**SNAPSHOT, "apiGroup": "other.example"},
        {"kind": "Secret", "name": "a"},
        {"kind": "PersistentVolumeClaim", "name": "a", "apiGroup": "apps"},
    ],
)
def test_only_claims_and_snapshots_are_cloned(source):
    assert "spec.source: a PersistentVolumeClaim is expected, or a VolumeSnapshot" in refusal(cloning(source))


def test_a_clone_names_its_source():
    assert "spec.source.name" in refusal(cloning({"kind": "PersistentVolumeClaim", "name": ""}))
    told = refusal(cloning({"kind": "PersistentVolumeClaim", "name": "a", "namespace": "other"}))
    assert "spec.source.namespace: unknown field" in told


@pytest.mark.parametrize(
    "given", [importing(source=HTTP), uploading(), cloning(SNAPSHOT)], ids=lambda each: each["kind"]
)
def test_the_spec_of_a_source_cannot_change(given):
    new = registry.copy_json(given)
    new["spec"]["preallocation"] = True
    assert f"spec: Cannot update {given['kind']} Spec" in refusal(new, given)
    new = registry.copy_json(given)
    new["metadata"]["labels"] = {"a": "b"}
    stored(new, given)


def test_checkpoints_of_a_staged_import_can_change():
    old = importing(source=IMAGEIO, targetClaim="a")
    new = registry.copy_json(old)
    new["spec"] |= {"checkpoints": [{"previous": "", "current": "a"}], "finalCheckpoint": True}
    stored(new, old)
    new["spec"]["targetClaim"] = "b"
    assert "Cannot update VolumeImportSource Spec: only the checkpoints" in refusal(new, old)


@pytest.mark.parametrize(
    "given", [importing(source=HTTP), uploading(), cloning(SNAPSHOT)], ids=lambda each: each["kind"]
)
def test_the_name_of_a_source_fits_into_a_label(given):
    given = {**given, "metadata": {"name": "a" * 63, "namespace": "here"}}
    stored(given)
    given["metadata"]["name"] += "a"
    assert refusal(given).startswith("metadata.name: a name of at most 63 characters is expected")


def test_there_is_one_config_only():
    assert refusal(config("other")) == "metadata.name: only the one named config is looked at"
    overhead = config(filesystemOverhead={"storageClass": {"fast": "1.5"}})
    assert "spec.filesystemOverhead.storageClass" in refusal(overhead)


@pytest.mark.parametrize("resource", [IMPORT_SOURCES, UPLOAD_SOURCES, CLONE_SOURCES, CDI_CONFIGS], ids=str)
def test_they_live_where_the_controllers_look(resource):
    info = registry.find(resource.group, resource.kind)
    assert resource_of(info.shape) == resource


def test_a_request_for_a_token_reads_and_writes_itself():
    asked = {
        "apiVersion": "upload.cdi.kubevirt.io/v1beta1",
        "kind": "UploadTokenRequest",
        "metadata": {"name": "it", "namespace": "here"},
        "spec": {"pvcName": "disk"},
    }
    read = UploadTokenRequest.from_object(asked)
    assert read.spec.pvc_name == "disk"
    assert read.to_object() == asked
