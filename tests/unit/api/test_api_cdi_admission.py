"""Every rule of CDI's webhooks for volumes and what fills them, by the field that each names; docs/volumes.md lists
them with ours."""

import re
from pathlib import Path

import pytest
from judge_cdi import make, store

from ingot.api.cdi import surroundings
from ingot.api.lookup import answered
from ingot.api.object import Object
from ingot.api.resources import VOLUME_CLAIMS
from ingot.api.status import ApiError

PAGE = Path(__file__).parents[3] / "docs" / "volumes.md"
SIZED: Object = {"resources": {"requests": {"storage": "1Gi"}}}
PVC: Object = {"accessModes": ["ReadWriteOnce"], **SIZED}
BLANK: Object = {"blank": {}}
IMAGEIO = {"url": "https://engine.example/api", "diskId": "1", "secretRef": "s", "certConfigMap": "c"}
VDDK = {"url": "https://vcenter.example", "uuid": "5", "backingFile": "[a] b", "thumbprint": "2", "secretRef": "s"}
GOLDEN = {"namespace": "golden", "name": "fedora"}


OTHER = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeImportSource", "name": "a"}
# CDI tells no field.
NONE = "(none)"


def filled(**references: Object) -> Object:
    return {"pvc": {**PVC, **references}}


def source(**kind: Object) -> Object:
    return {"source": kind, "pvc": PVC}


# CDI's field, ours, and what is refused.
RULES: list[tuple[str, str, Object]] = [
    ("spec.PVC", "spec.pvc", {"source": BLANK}),
    ("spec.PVC.Storage", "spec.pvc", {"source": BLANK, "pvc": PVC, "storage": SIZED}),
    (
        "spec.PVC.resources.requests.size",
        "spec.pvc.resources.requests.storage",
        {"source": BLANK, "pvc": {"accessModes": ["ReadWriteOnce"]}},
    ),
    (
        "spec.Storage.resources.requests.size",
        "spec.storage.resources.requests.storage",
        {"source": BLANK, "storage": {"resources": {"requests": {"storage": "0"}}}},
    ),
    ("spec.PVC.accessModes", "spec.pvc.accessModes", {"source": BLANK, "pvc": SIZED}),
    (
        "spec.PVC.accessModes",
        "spec.storage.accessModes[0]",
        {"source": BLANK, "storage": {**SIZED, "accessModes": ["Never"]}},
    ),
    (NONE, "spec.pvc.storageClassName", {"source": BLANK, "pvc": {**PVC, "storageClassName": "a" * 254}}),
    ("spec.dataSource.kind", "spec.pvc.dataSource.kind", filled(dataSource={**OTHER, "kind": ""})),
    ("spec.dataSource.name.", "spec.pvc.dataSource.name", filled(dataSource={**OTHER, "name": ""})),
    ("spec.dataSource.apiGroup.", "spec.pvc.dataSource.apiGroup", filled(dataSource={**OTHER, "apiGroup": ""})),
    (
        "spec.dataSourceRef.namespace.",
        "spec.pvc.dataSourceRef.namespace",
        filled(dataSourceRef={**OTHER, "namespace": "b"}),
    ),
    (NONE, "spec.pvc.dataSourceRef", filled(dataSource=OTHER, dataSourceRef={**OTHER, "name": "b"})),
    ("spec.source", "spec.source", {"source": BLANK, **filled(dataSourceRef=OTHER)}),
    ("spec.source", "spec.source", {"source": {}, "pvc": PVC}),
    ("spec.source", "spec.source", source(blank={}, upload={})),
    ("spec.source", "spec.source", {**source(blank={}), "sourceRef": {"kind": "DataSource", "name": "a"}}),
    ("spec.source", "spec.source", {"pvc": PVC}),
    ("spec.sourceRef.Kind", "spec.sourceRef.kind", {"pvc": PVC, "sourceRef": {"kind": "Secret", "name": "a"}}),
    ("spec.sourceRef.Name", "spec.sourceRef.name", {"pvc": PVC, "sourceRef": {"kind": "DataSource", "name": ""}}),
    ("spec.source.HTTP.url", "spec.source.http.url", source(http={"url": "ftp://a/b"})),
    (NONE, "spec.source.http.url", source(http={"url": f"http://a/{'b' * 8192}"})),
    (NONE, "spec.source.registry.url", source(registry={"url": f"docker://{'a' * 8192}"})),
    (NONE, "spec.source.http.extraHeaders", source(http={"url": "http://a", "extraHeaders": ["A: b"] * 33})),
    (NONE, "spec.source.http.extraHeaders[0]", source(http={"url": "http://a", "extraHeaders": [f"A: {'b' * 8192}"]})),
    ("spec.source.S3.url", "spec.source.s3.url", source(s3={"url": "ftp://a/b"})),
    ("spec.source.GCS.url", "spec.source.gcs.url", source(gcs={"url": "ftp://a/b"})),
    ("spec.source.ImageIO.url", "spec.source.imageio.url", source(imageio={**IMAGEIO, "url": "a"})),
    ("spec.source.VDDK.url", "spec.source.vddk.url", source(vddk={**VDDK, "url": "a"})),
    ("spec.source.Registry", "spec.source.registry", source(registry={})),
    (
        "spec.source.Registry.importMethod",
        "spec.source.registry.imageStream",
        source(registry={"imageStream": "a", "pullMethod": "pod"}),
    ),
    ("spec.source.Registry.URL", "spec.source.registry.url", source(registry={"url": "http://a/b"})),
    (
        "spec.source.Registry.importMethod",
        "spec.source.registry.pullMethod",
        source(registry={"url": "docker://a", "pullMethod": "host"}),
    ),
    ("spec.source.Imageio", "spec.source.imageio.secretRef", source(imageio={**IMAGEIO, "secretRef": ""})),
    ("spec.source.VDDK", "spec.source.vddk.thumbprint", source(vddk={**VDDK, "thumbprint": ""})),
    ("spec.source.PVC", "spec.source.pvc.name", source(pvc={**GOLDEN, "name": ""})),
    ("spec.source.Snapshot", "spec.source.snapshot.name", source(snapshot={**GOLDEN, "name": ""})),
    ("spec.contentType", "spec.contentType", {**source(blank={}), "contentType": "iso"}),
    ("spec.contentType", "spec.contentType", {**source(blank={}), "contentType": "archive"}),
    ("spec.contentType", "spec.contentType", {**source(registry={"url": "docker://a"}), "contentType": "archive"}),
]
# Those that depend on what is there; their tests are elsewhere, or below.
OTHERS = {
    ("spec.sourceRef", "spec.sourceRef"),
    ("spec.source.PVC", "spec.source.pvc"),
    ("spec.source.Snapshot", "spec.source.snapshot"),
    ("spec.targetClaim", "spec.targetClaim"),
    ("DataVolume.Spec", "spec"),
    ("DataVolume.Name", "metadata.name"),
    (NONE, "metadata.name"),
}
# On the page they are told with the first of their kind.
LIKEWISE = {f"spec.source.{kind}.url" for kind in ("S3", "GCS", "ImageIO", "VDDK")}


def fields(obj: Object, old: Object | None = None) -> set[str]:
    return {fault.split(": ")[0] for fault in store(obj, old)[1]}


def volume(spec: Object) -> Object:
    return make("cdi.kubevirt.io/v1beta1", "DataVolume", spec=spec)


@pytest.mark.parametrize(("theirs", "ours", "spec"), RULES, ids=[f"{rule[0]}-{at}" for at, rule in enumerate(RULES)])
def test_what_cdi_refuses_is_refused_with_its_field(theirs: str, ours: str, spec: Object) -> None:
    assert fields(volume(spec)) == {ours}


def test_a_spec_does_not_change() -> None:
    assert fields(volume(source(upload={})), volume(source(blank={}))) == {"spec"}


def test_a_staged_import_names_its_claim() -> None:
    spec = {"source": {"vddk": VDDK}, "checkpoints": [{"previous": "", "current": "a"}]}
    assert fields(make("cdi.kubevirt.io/v1beta1", "VolumeImportSource", spec=spec)) == {"spec.targetClaim"}


def test_the_claim_of_another_is_in_the_way() -> None:
    there = {"metadata": {"name": "it", "namespace": "here"}, "spec": PVC}
    looked = surroundings.check(volume(source(blank={})), "here")
    with pytest.raises(ApiError) as caught:
        answered(looked, lambda kind, *_: there if kind == VOLUME_CLAIMS else None)
    assert [cause["field"] for cause in (caught.value.details or {})["causes"]] == ["metadata.name"]


@pytest.mark.parametrize("kind", ["VolumeImportSource", "VolumeUploadSource"])
def test_a_source_has_a_short_name(kind: str) -> None:
    long = make("cdi.kubevirt.io/v1beta1", kind, spec={"source": BLANK} if kind == "VolumeImportSource" else {})
    long["metadata"]["name"] = "a" * 64
    assert fields(long) == {"metadata.name"}


def test_the_page_lists_every_rule() -> None:
    rows = re.findall(r"^\|.*\| `?([\w.()]+)`? \| `([\w.\[\]]+)` \|$", PAGE.read_text(), re.MULTILINE)
    assert set(rows) == {(theirs, ours) for theirs, ours, _ in RULES if theirs not in LIKEWISE} | OTHERS
