"""Volumes: their sources, who may use them, and copies."""

import pytest
from judge import instance, refusal, stored

from ingot.api.kubevirt.volume import SOURCES, Volume
from ingot.api.machinery.schema import members

NBD = {"uri": "nbd://host/export", "format": "raw"}
CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}


def kept(**volume):
    return stored(instance({"name": "a", **volume}))["spec"]["volumes"][0]


def refused(**volume):
    return refusal(instance({"name": "a", **volume}))


@pytest.mark.parametrize(
    "volume",
    [
        CLAIM,
        {"persistentVolumeClaim": {"claimName": "c", "readOnly": True, "hotpluggable": True}},
        {"dataVolume": {"name": "d", "hotpluggable": True}},
        {"ephemeral": {"persistentVolumeClaim": {"claimName": "c"}}},
        {"containerDisk": {"image": "i", "imagePullPolicy": "Always", "imagePullSecret": "s", "path": "/disk/x"}},
        {"containerDisk": {"image": "i", "standard": "nbd-v1"}},
        {"emptyDisk": {"capacity": "2Gi"}},
        {"emptyDisk": {"capacity": 1048576}},
        {"hostDisk": {"path": "/a", "type": "DiskOrCreate", "capacity": "1Gi", "shared": True}},
        {"cloudInitNoCloud": {"userData": "#!", "networkDataSecretRef": {"name": "n"}}},
        {"cloudInitConfigDrive": {"secretRef": {"name": "s"}, "networkDataBase64": "eA=="}},
        {"configMap": {"name": "m", "optional": True, "volumeLabel": "cidata"}},
        {"secret": {"secretName": "s", "volumeLabel": "x"}},
        {"serviceAccount": {"serviceAccountName": "default"}},
        {"sysprep": {"configMap": {"name": "m"}}},
        {"downwardAPI": {"fields": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"downwardMetrics": {}},
        {"memoryDump": {"claimName": "c", "hotpluggable": True}},
        {"container": {"image": "i", "env": [{"name": "A"}], "args": ["x"]}},
    ],
)
def test_sources_are_kept_as_they_are(volume):
    assert kept(**volume) == {"name": "a", **volume}


@pytest.mark.parametrize(
    ("volume", "filled"),
    [
        ({"networkVolume": NBD}, {"networkVolume": {**NBD, "readOnly": True}}),
        ({"networkVolume": {**NBD, "readOnly": False}}, {"networkVolume": {**NBD, "readOnly": False}}),
        (
            {"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io:x"}},
            {"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io:x", "lun": 0, "format": "raw"}},
        ),
        (
            {"rbd": {"monitors": ["m"], "image": "i"}},
            {"rbd": {"monitors": ["m"], "image": "i", "pool": "rbd", "user": "admin", "format": "raw"}},
        ),
        (
            {"nbd": {"host": "h"}},
            {"nbd": {"host": "h", "port": 10809, "export": "", "tls": False, "format": "raw"}},
        ),
        (
            {"gluster": {"host": "h", "volume": "v", "path": "p"}},
            {"gluster": {"host": "h", "volume": "v", "path": "p", "port": 24007, "format": "raw"}},
        ),
        ({"http": {"url": "https://h/x"}}, {"http": {"url": "https://h/x", "format": "raw"}}),
        ({**CLAIM, "copy": {}}, {**CLAIM, "copy": {"mode": "none"}}),
    ],
)
def test_defaults(volume, filled):
    assert kept(**volume) == {"name": "a", **filled}


def test_every_source_is_in_the_rule():
    options = {"name", "accessMode", "copy", "driver"}
    assert {name for name, *_ in members(Volume)} - options == set(SOURCES)


@pytest.mark.parametrize("volume", [{}, {**CLAIM, "emptyDisk": {"capacity": 1}}])
def test_exactly_one_source(volume):
    said = refused(**volume)
    assert said.startswith("spec.volumes[0]: ")
    assert "a volume has exactly one source" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"uri": "ftp://h/x"}, "spec.volumes[0].networkVolume.uri"),
        ({"uri": "nbd://h:99999/x"}, "spec.volumes[0].networkVolume.uri"),
        ({"uri": "rbd://h/image"}, "a pool and an image"),
        ({"uri": "nbd://me:pw@h/x"}, "secretRef"),
        ({"format": "vmdk"}, 'spec.volumes[0].networkVolume.format: Unsupported value: "vmdk"'),
        ({"readOnly": "yes"}, "spec.volumes[0].networkVolume.readOnly"),
        ({"password": "x"}, "spec.volumes[0].networkVolume.password: unknown field"),
    ],
)
def test_network_volumes_are_refused_with_the_path(change, said):
    assert said in refused(networkVolume={**NBD, **change})


@pytest.mark.parametrize("missing", ["uri", "format"])
def test_network_volumes_need(missing):
    source = {key: value for key, value in NBD.items() if key != missing}
    assert f"spec.volumes[0].networkVolume.{missing}: Required value" in refused(networkVolume=source)


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ({"iscsi": {"targetPortal": "h:x", "iqn": "iqn.2017-01.io:x"}}, "spec.volumes[0].iscsi.targetPortal"),
        ({"iscsi": {"targetPortal": "h", "iqn": "disk"}}, "spec.volumes[0].iscsi.iqn"),
        ({"rbd": {"monitors": ["m", "n n"], "image": "i"}}, "spec.volumes[0].rbd.monitors[1]"),
        ({"rbd": {"monitors": [], "image": "i"}}, "spec.volumes[0].rbd.monitors"),
        ({"http": {"url": "ftp://h"}}, "spec.volumes[0].http.url"),
        ({"http": {"url": "http://h/#x"}}, "fragment"),
        ({"nbd": {"host": "h", "port": 0}}, "spec.volumes[0].nbd.port"),
        ({"containerDisk": {"image": ""}}, "spec.volumes[0].containerDisk.image"),
        ({"containerDisk": {"image": "i", "standard": "v7"}}, "spec.volumes[0].containerDisk.standard"),
        ({"emptyDisk": {"capacity": "big"}}, "spec.volumes[0].emptyDisk.capacity"),
        ({"hostDisk": {"path": "/a", "type": "File"}}, "spec.volumes[0].hostDisk.type"),
        ({"sysprep": {}}, "exactly one of secret and configMap"),
        ({**CLAIM, "name": "A_b"}, "spec.volumes[0].name"),
    ],
)
def test_sources_are_refused_with_the_path(volume, said):
    assert said in refused(**volume)


@pytest.mark.parametrize("mode", ["write-exclusive", "write-shared", "read-shared"])
def test_access_modes(mode):
    assert kept(**CLAIM, accessMode=mode)["accessMode"] == mode


def test_an_unknown_access_mode():
    said = refused(**CLAIM, accessMode="read-only")
    assert 'spec.volumes[0].accessMode: Unsupported value: "read-only"' in said
    assert '"write-exclusive", "write-shared", "read-shared"' in said


@pytest.mark.parametrize("mode", ["none", "copy-on-write", "copy-on-read", "clone"])
def test_copy_modes(mode):
    assert kept(**CLAIM, copy={"mode": mode})["copy"] == {"mode": mode}


def test_a_usage_type_goes_with_a_copy():
    assert kept(**CLAIM, copy={"mode": "clone", "usageType": "fast"})
    assert "spec.volumes[0].copy.usageType" in refused(**CLAIM, copy={"usageType": "fast"})


@pytest.mark.parametrize(
    "volume",
    [
        {"http": {"url": "http://h/x"}, "accessMode": "write-shared"},
        {"networkVolume": NBD, "accessMode": "write-exclusive"},
    ],
)
def test_what_is_only_read_is_not_written(volume):
    assert "spec.volumes[0].accessMode" in refused(**volume)


def test_a_network_volume_can_be_written_when_it_says_so():
    assert kept(networkVolume={**NBD, "readOnly": False}, accessMode="write-exclusive")


@pytest.mark.parametrize("name", ["qemu", "kubelet"])
def test_drivers(name):
    assert kept(**CLAIM, driver={"name": name})["driver"] == {"name": name}


def test_a_driver_is_for_claims():
    assert "spec.volumes[0].driver" in refused(emptyDisk={"capacity": 1}, driver={"name": "qemu"})
