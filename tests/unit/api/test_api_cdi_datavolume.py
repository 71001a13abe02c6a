import pytest
from judge_cdi import make, refusal, stored

from ingot.api import registry
from ingot.api.cdi import DataVolumeSpec

PVC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SIZED = {"resources": {"requests": {"storage": "1Gi"}}}

POPULATOR = {"apiGroup": "cdi.kubevirt.io", "kind": "VolumeImportSource", "name": "a"}

SOURCES = {
    "http": {
        "url": "https://images.example/a.qcow2",
        "checksum": "sha256:" + "0" * 64,
        "extraHeaders": ["X-A: b"],
        "secretRef": "",
    },
    "registry": {"url": "docker://quay.example:5000/kubevirt/fedora:40", "platform": {"architecture": "arm64"}},
    "upload": {},
    "pvc": {"namespace": "golden", "name": "fedora"},
    "snapshot": {"namespace": "golden", "name": "fedora"},
    "blank": {},
    "nbd": {"url": "nbd://host:10809/Nested/Export", "secretRef": "tls"},
    "s3": {"url": "s3://bucket/a.img"},
    "gcs": {"url": "gs://bucket/a.img"},
    "imageio": {"url": "https://engine.example/api", "diskId": "1", "secretRef": "s", "certConfigMap": "c"},
    "vddk": {
        "url": "https://vcenter.example",
        "uuid": "52260566",
        "backingFile": "[store] vm/vm.vmdk",
        "thumbprint": "20:6C",
        "secretRef": "s",
        "initImageURL": "registry.example/vddk",
    },
}


def volume(**spec):
    return make("cdi.kubevirt.io/v1beta1", "DataVolume", spec=spec)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("target", [{"pvc": PVC}, {"storage": SIZED}])
def test_every_source_with_every_target(source, target):
    given = volume(source={source: SOURCES[source]}, **target)
    assert stored(given) == given


def test_names_and_first_columns_are_those_of_cdi():
    info = registry.find("cdi.kubevirt.io", "DataVolume")
    assert (info.plural, info.singular, info.short_names) == ("datavolumes", "datavolume", ("dv", "dvs"))
    assert info.categories == ("all",)
    shown = [column.name for column in info.columns if not column.priority]
    assert shown == ["Phase", "Progress", "Restarts", "Age", "Done", "Left"]


def test_a_wide_table_tells_how_many_bytes_have_moved():
    info = registry.find("cdi.kubevirt.io", "DataVolume")
    assert [column.name for column in info.columns if column.priority] == ["Total", "Rate", "Reason"]
    old = volume(source={"blank": {}}, storage=SIZED)
    transfer = {"done": 1 << 40, "total": 1 << 41, "bytesPerSecond": 5, "secondsLeft": 7}
    new = {**old, "status": {"phase": "ImportInProgress", "transfer": transfer}}
    assert stored(new, old, status=True) == new
    new = {**old, "status": {"transfer": {"done": -1}}}
    assert "status.transfer.done" in refusal(new, old, status=True)


def test_a_struct_reads_what_the_wire_has():
    spec = DataVolumeSpec.from_object(volume(source={"vddk": SOURCES["vddk"]}, storage={})["spec"])
    assert spec.source.vddk.init_image_url == "registry.example/vddk"
    assert spec.to_object() == {"source": {"vddk": SOURCES["vddk"]}, "storage": {}}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"source": {}, "pvc": PVC}, "spec.source: exactly one source is expected: one of http, registry"),
        ({"source": {"blank": {}, "upload": {}}, "pvc": PVC}, "spec.source: exactly one source"),
        ({"source": {"blank": {}}}, "spec.pvc: exactly one of pvc and storage is expected"),
        ({"source": {"blank": {}}, "pvc": PVC, "storage": SIZED}, "spec.pvc: exactly one of pvc and storage"),
        ({"pvc": PVC}, "spec.source: source or sourceRef is expected"),
        (
            {"pvc": PVC, "source": {"blank": {}}, "sourceRef": {"kind": "DataSource", "name": "a"}},
            "spec.source: source and sourceRef exclude each other",
        ),
        ({"pvc": PVC, "sourceRef": {"kind": "Secret", "name": "a"}}, "DataSource"),
        (
            {"source": {"blank": {}}, "pvc": PVC, "contentType": "archive"},
            "spec.contentType: a blank, registry or nbd source cannot give an archive; kubevirt is expected",
        ),
        (
            {"source": {"nbd": {"url": "nbd://a/b"}}, "pvc": PVC, "contentType": "archive"},
            "spec.contentType: a blank, registry or nbd source cannot give an archive",
        ),
        (
            {"source": {"blank": {}}, "pvc": {**PVC, "dataSourceRef": POPULATOR}},
            "spec.source: a claim with a dataSource or dataSourceRef is filled from there",
        ),
        (
            {"sourceRef": {"kind": "DataSource", "name": "a"}, "storage": {**SIZED, "dataSource": POPULATOR}},
            "spec.source: a claim with a dataSource or dataSourceRef is filled from there",
        ),
        ({"source": {"pvc": {"namespace": "", "name": "a"}}, "pvc": PVC}, "spec.source.pvc.namespace: Invalid value"),
        ({"source": {"snapshot": {"namespace": "a", "name": ""}}, "pvc": PVC}, "spec.source.snapshot.name: Invalid"),
        ({"source": {"registry": {"imageStream": "", "pullMethod": "node"}}, "pvc": PVC}, "registry.imageStream"),
        ({"source": {"registry": {"url": "docker://a", "pullMethod": "host"}}, "pvc": PVC}, "registry.pullMethod"),
        ({"source": {"vddk": {**SOURCES["vddk"], "thumbprint": ""}}, "pvc": PVC}, "spec.source.vddk.thumbprint"),
        ({"source": {"imageio": {**SOURCES["imageio"], "secretRef": ""}}, "pvc": PVC}, "spec.source.imageio.secretRef"),
        ({"source": {"blank": {}}, "pvc": PVC, "contentType": "iso"}, "spec.contentType: Unsupported value"),
        ({"pvc": PVC, "sourceRef": {"kind": "DataSource", "name": ""}}, "spec.sourceRef.name: Invalid value"),
        ({"source": {"registry": {}}, "pvc": PVC}, "spec.source.registry: exactly one of url and imageStream"),
        (
            {"source": {"registry": {"imageStream": "a"}}, "pvc": PVC},
            "spec.source.registry.imageStream: an imageStream needs pullMethod: node",
        ),
        (
            {"source": {"imageio": {"url": "https://a", "diskId": "1", "secretRef": "s"}}, "pvc": PVC},
            "spec.source.imageio: certConfigMap is expected, or insecureSkipVerify: true",
        ),
        ({"source": {"http": {"url": "https://a"}}, "pvc": PVC, "pvx": {}}, "spec.pvx: unknown field"),
        ({"source": {"http": {"url": "https://a", "checksum": "crc:1"}}, "pvc": PVC}, "spec.source.http.checksum"),
    ],
)
def test_shapes_that_are_refused(spec, why):
    assert why in refusal(volume(**spec))


@pytest.mark.parametrize(
    ("source", "field", "why"),
    [
        ({"http": {"url": "ftp://a/b"}}, "http.url", "starts with http:// or https:// is expected"),
        ({"http": {"url": ""}}, "http.url", "http:// or https://"),
        ({"http": {"url": "https://"}}, "http.url", "with a host"),
        ({"http": {"url": "https://a b/c"}}, "http.url", "with a host"),
        ({"http": {"url": "https://a:99999/"}}, "http.url", "Port out of range"),
        ({"http": {"url": "https://[::1/"}}, "http.url", "Invalid IPv6 URL"),
        ({"s3": {"url": "gs://a/b"}}, "s3.url", "s3://, http:// or https://"),
        ({"gcs": {"url": "s3://a/b"}}, "gcs.url", "gs://, http:// or https://"),
        ({"nbd": {"url": "http://a/b"}}, "nbd.url", "nbd:// or nbds://"),
        ({"registry": {"url": "quay.io/a"}}, "registry.url", "starts with docker:// or oci-archive://"),
        ({"registry": {"url": "docker://"}}, "registry.url", "an image reference is expected after docker://"),
        ({"registry": {"url": "docker://quay.io/A B"}}, "registry.url", "registry.example/name:tag"),
        ({"registry": {"url": "oci-archive://"}}, "registry.url", "the path of an archive"),
        (
            {"registry": {"url": "oci-archive:///a.tar", "pullMethod": "node"}},
            "registry.url",
            "starts with docker:// is expected",
        ),
    ],
)
def test_addresses_that_are_refused(source, field, why):
    told = refusal(volume(source=source, pvc=PVC))
    assert f"spec.source.{field}: Invalid value: " in told
    assert why in told


@pytest.mark.parametrize(
    "url",
    [
        "docker://fedora",
        "docker://fedora:latest",
        "docker://localhost:5000/a/b-c_d.e:V1.0",
        "docker://[::1]:5000/a",
        "docker://quay.io/a@sha256:" + "0" * 64,
        "oci-archive:///images/a.tar",
    ],
)
def test_images_that_are_accepted(url):
    stored(volume(source={"registry": {"url": url}}, storage={}))


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"pvc": {"accessModes": ["ReadWriteOnce"]}}, "spec.pvc.resources.requests.storage: Required value"),
        ({"storage": {}}, "spec.storage.resources.requests.storage: Required value: the size"),
        (
            {"storage": {"resources": {"requests": {"storage": "0Gi"}}}},
            'spec.storage.resources.requests.storage: Invalid value: "0Gi": a size above zero is expected',
        ),
        ({"storage": {"resources": {"requests": {"storage": -1}}}}, "Invalid value: -1: a size above zero"),
        ({"storage": {"resources": {"requests": {"storage": "1 GB"}}}}, "spec.storage.resources.requests"),
        ({"pvc": SIZED}, "spec.pvc.accessModes: Invalid value: []: exactly one access mode is expected"),
        (
            {"pvc": {**PVC, "accessModes": ["ReadWriteOnce", "ReadOnlyMany"]}},
            'spec.pvc.accessModes: Invalid value: ["ReadWriteOnce","ReadOnlyMany"]: exactly one access mode',
        ),
        (
            {"storage": {**SIZED, "accessModes": ["ReadWriteOnce", "Never"]}},
            'spec.storage.accessModes[1]: Unsupported value: "Never": supported values: "ReadWriteOnce", ',
        ),
        (
            {"pvc": {**PVC, "storageClassName": "a" * 254}},
            "the name of a StorageClass is expected, of at most 253 characters",
        ),
        ({"storage": {**SIZED, "storageClassName": "Fast!"}}, 'spec.storage.storageClassName: Invalid value: "Fast!"'),
    ],
)
def test_targets_that_are_refused(target, why):
    assert why in refusal(volume(source={"blank": {}}, **target))


@pytest.mark.parametrize("size", ["1", 1, "0.5Gi", "+1e9", "1E", ".5G"])
def test_sizes_that_are_accepted(size):
    stored(volume(source={"blank": {}}, storage={"resources": {"requests": {"storage": size}}}))


def test_an_image_and_a_clone_need_no_size():
    stored(volume(source={"registry": {"url": "docker://a"}}, storage={}))
    stored(volume(sourceRef={"kind": "DataSource", "name": "a"}, storage={"storageClassName": "fast"}))


@pytest.mark.parametrize("name", ["pvc", "storage"])
def test_an_archive_tells_no_size_and_needs_a_filesystem(name):
    archive = {"source": {"http": SOURCES["http"]}, "contentType": "archive"}
    stored(volume(**archive, **{name: {**PVC, "volumeMode": "Filesystem"}}))
    told = refusal(volume(**archive, **{name: {"accessModes": ["ReadWriteOnce"]}}))
    assert f"spec.{name}.resources.requests.storage: Required value" in told
    told = refusal(volume(**archive, **{name: {**PVC, "volumeMode": "Block"}}))
    assert f'spec.{name}.volumeMode: Invalid value: "Block": the files of an archive need a filesystem' in told
    stored(volume(source={"pvc": SOURCES["pvc"]}, contentType="archive", storage={}))


@pytest.mark.parametrize(
    "header", ["X-A: b", "X-A:b", "Authorization: Basic a:b==", "X-A:", "X-A:\tb", "X.Tenant!#$%&'*+^_`|~: 1"]
)
def test_headers_that_are_accepted(header):
    stored(volume(source={"http": {"url": "https://a", "extraHeaders": [header]}}, storage={}))


@pytest.mark.parametrize("header", ["", "secret", ": b", "X A: b", "X-A: b\r\nHost: other", "X-A: \x00", "X-A: ä"])
def test_headers_that_are_refused_and_not_repeated(header):
    told = refusal(volume(source={"http": {"url": "https://a", "extraHeaders": ["X: y", header]}}, storage={}))
    assert told == (
        "spec.source.http.extraHeaders[1]: Invalid value: a header is expected, as Name: value on one line, in ASCII"
    )


@pytest.mark.parametrize("name", ["Host", "range", "Content-Length"])
def test_headers_that_are_ours_are_refused(name):
    told = refusal(volume(source={"http": {"url": "https://a", "extraHeaders": [f"{name}: secret"]}}, storage={}))
    assert told == f"spec.source.http.extraHeaders[0]: Invalid value: {name} is ours to send: leave it out"


def test_a_claim_with_a_data_source_needs_no_source():
    stored(volume(pvc={**PVC, "dataSourceRef": POPULATOR}))
    stored(volume(storage={**SIZED, "dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}))
    stored(volume(pvc={**PVC, "dataSourceRef": POPULATOR, "dataSource": POPULATOR}))


@pytest.mark.parametrize(
    ("claim", "why"),
    [
        ({"dataSourceRef": {**POPULATOR, "namespace": "other"}}, "dataSourceRef.namespace: Invalid value"),
        ({"dataSourceRef": {**POPULATOR, "name": ""}}, "dataSourceRef.name: Required value"),
        ({"dataSource": {**POPULATOR, "kind": ""}}, "dataSource.kind: Required value"),
        ({"dataSource": {"kind": "VolumeSnapshot", "name": "a"}}, "dataSource.apiGroup: Required value"),
        (
            {"dataSource": {**POPULATOR, "name": "b"}, "dataSourceRef": POPULATOR},
            "dataSourceRef: Invalid value: ",
        ),
    ],
)
@pytest.mark.parametrize("name", ["pvc", "storage"])
def test_what_else_fills_a_claim_is_named_well(claim, why, name):
    assert f"spec.{name}.{why}" in refusal(volume(**{name: {**PVC, **claim}}))


def test_what_else_fills_a_claim_tells_no_size():
    assert "spec.storage.resources.requests.storage: Required value" in refusal(
        volume(storage={"dataSourceRef": POPULATOR})
    )


def test_the_spec_cannot_change():
    old = volume(source={"blank": {}}, storage=SIZED)
    new = registry.copy_json(old)
    new["spec"]["preallocation"] = True
    assert "spec: Cannot update DataVolume Spec: only the checkpoints" in refusal(new, old)
    new = registry.copy_json(old)
    new["metadata"]["labels"] = {"a": "b"}
    new["status"] = {"phase": "ImportInProgress", "progress": "12.50%", "restartCount": 1, "claimName": "it"}
    assert stored(new, old, status=True) == new


def test_checkpoints_of_a_staged_import_can_change():
    old = volume(source={"vddk": SOURCES["vddk"]}, storage=SIZED)
    new = registry.copy_json(old)
    new["spec"] |= {"checkpoints": [{"previous": "", "current": "a"}], "finalCheckpoint": True}
    stored(new, old)
    new["spec"]["preallocation"] = True
    assert "Cannot update DataVolume Spec" in refusal(new, old)


def test_checkpoints_of_another_import_cannot_change():
    old = volume(source={"blank": {}}, storage=SIZED)
    new = registry.copy_json(old)
    new["spec"]["checkpoints"] = [{"previous": "", "current": "a"}]
    assert "Cannot update DataVolume Spec" in refusal(new, old)


def test_a_volume_that_older_rules_let_in_can_still_be_finished():
    old = volume(source={"http": {"url": "gopher://a"}}, storage=SIZED)
    new = registry.copy_json(old)
    new["metadata"]["finalizers"] = []
    stored(new, old)
