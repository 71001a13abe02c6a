"""Disks made on the spot, with the real xorriso."""

import base64
import json
import subprocess

import pytest

from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.api.status import not_found
from ingot.disks.endpoint import File
from ingot.disks.fault import DiskFault
from ingot.disks.made.make import SOURCES, make
from ingot.disks.place import Place
from ingot.disks.resolve import RESOLVERS


class Cluster:
    """The objects of one namespace, as a client gives them; and a ServiceAccount called `robot`."""

    def __init__(self, secrets=None, config_maps=None):
        encoded = {
            name: {"data": {key: base64.b64encode(value).decode() for key, value in data.items()}}
            for name, data in (secrets or {}).items()
        }
        self.objects = {SECRETS.kind: encoded, CONFIG_MAPS.kind: config_maps or {}}

    async def get(self, resource, name, namespace):
        assert namespace == "here"
        if name not in self.objects[resource.kind]:
            raise not_found("", resource.plural, name)
        return self.objects[resource.kind][name]

    async def create(self, resource, obj, *, name, subresource):
        assert (subresource, obj["metadata"]["namespace"]) == ("token", "here")
        if name != "robot":
            raise not_found("", resource.plural, name)
        return {"status": {"token": "t0ken"}}


@pytest.fixture
def place(tmp_path):
    return Place("here", "node", "pod", tmp_path / "kubelet", tmp_path)


def machine(**spec):
    metadata = {"name": "vm.one", "namespace": "here", "uid": "u1", "labels": {"b": '"2"', "a": "1"}}
    return {"metadata": metadata, "spec": {"domain": {"devices": {}}, **spec}}


async def made(place, client=None, vmi=None, **source):
    volume = {"name": "disk", **source}
    return await make(volume, vmi or machine(), place, client or Cluster())


def told(path, *arguments):
    return subprocess.check_output(["xorriso", "-indev", path, *arguments], stderr=subprocess.DEVNULL, text=True)


def label_of(file):
    said = told(file.path, "-pvd_info")
    return next(line.partition(":")[2].strip() for line in said.splitlines() if line.startswith("Volume Id"))


def files_of(file, tmp_path):
    target = tmp_path / "extracted"
    told(file.path, "-osirrox", "on", "-extract", "/", str(target))
    found = {str(path.relative_to(target)): path.read_bytes() for path in target.rglob("*") if path.is_file()}
    subprocess.check_call(["rm", "-rf", target])
    return found


def test_every_made_source_is_resolved_here():
    assert all(RESOLVERS[source] is make for source in SOURCES)


async def test_an_empty_disk_keeps_its_data(place):
    first = await made(place, emptyDisk={"capacity": "1500k"})
    assert first == File(place.private / "made/disk.img")
    status = first.path.stat()
    assert (status.st_size, status.st_blocks, status.st_mode & 0o777) == (2 << 20, 0, 0o600)
    first.path.write_bytes(b"data")
    assert (await made(place, emptyDisk={"capacity": "1500k"})).path.read_bytes() == b"data"


async def test_an_empty_disk_that_no_filesystem_can_hold(place):
    with pytest.raises(DiskFault, match=r"emptyDisk of .* cannot be made") as fault:
        await made(place, emptyDisk={"capacity": "7Ei"})
    assert fault.value.reason == "DiskNotMade"
    assert list((place.private / "made").iterdir()) == []


async def test_no_cloud(place, tmp_path):
    file = await made(place, cloudInitNoCloud={"userData": "#cloud-config\n", "networkData": "version: 2\n"})
    files = files_of(file, tmp_path)
    about = json.loads(files.pop("meta-data"))
    assert files == {"user-data": b"#cloud-config\n", "network-config": b"version: 2\n"}
    assert about["local-hostname"] == "vm"
    assert label_of(file) == "cidata"
    assert file.identities == frozenset()
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in file.path.parent.iterdir()] == ["disk.iso"]


async def test_who_the_guest_is_stays_the_same(place, tmp_path):
    ids = set()
    for vmi in (machine(), {**machine(), "metadata": {**machine()["metadata"], "uid": "u2"}}):
        file = await made(place, vmi=vmi, cloudInitNoCloud={"userData": "x"})
        ids.add(json.loads(files_of(file, tmp_path)["meta-data"])["instance-id"])
        file.path.unlink()
    assert len(ids) == 1
    vmi = machine(hostname="box", domain={"devices": {}, "firmware": {"uuid": "f-1"}})
    file = await made(place, vmi=vmi, cloudInitNoCloud={"userData": "x"})
    assert json.loads(files_of(file, tmp_path)["meta-data"]) == {"instance-id": "f-1", "local-hostname": "box"}


async def test_images_are_the_same_for_the_same_files(place):
    images = set()
    for _ in range(2):
        file = await made(place, cloudInitNoCloud={"userData": "x"})
        images.add(file.path.read_bytes())
        file.path.unlink()
    assert len(images) == 1


async def test_what_a_killed_maker_left_is_taken_away(place):
    left = place.private / "made/.disk.iso/tree"
    left.mkdir(parents=True)
    (left / "user-data").write_text("secret")
    await made(place, cloudInitNoCloud={"userData": "x"})
    assert [entry.name for entry in (place.private / "made").iterdir()] == ["disk.iso"]


async def test_an_image_is_left_alone(place):
    file = await made(place, cloudInitNoCloud={"userData": "x"})
    before = file.path.stat().st_ino
    assert (await made(place, cloudInitNoCloud={"userData": "y"})).path.stat().st_ino == before


@pytest.mark.parametrize("key", ["userdata", "userData"])
async def test_cloud_init_from_secrets(place, tmp_path, key):
    cluster = Cluster({"u": {key: b"from secret"}, "n": {"networkdata": b"net"}, "k": {"key1": b"ssh-a\n# no\nssh-b"}})
    source = {"secretRef": {"name": "u"}, "networkDataSecretRef": {"name": "n"}}
    keys = {"source": {"secret": {"secretName": "k"}}, "propagationMethod": {"noCloud": {}}}
    vmi = machine(accessCredentials=[{"sshPublicKey": keys}])
    files = files_of(await made(place, cluster, vmi, cloudInitNoCloud=source), tmp_path)
    assert (files["user-data"], files["network-config"]) == (b"from secret", b"net")
    assert json.loads(files["meta-data"])["public-keys"] == ["ssh-a", "ssh-b"]


async def test_config_drive(place, tmp_path):
    cluster = Cluster({"k": {"key1": b"ssh-a"}})
    keys = {"source": {"secret": {"secretName": "k"}}, "propagationMethod": {"configDrive": {}}}
    vmi = machine(accessCredentials=[{"sshPublicKey": keys}])
    source = {"userDataBase64": "aGVs\nbG8=", "networkDataBase64": "e30="}
    file = await made(place, cluster, vmi, cloudInitConfigDrive=source)
    files = files_of(file, tmp_path)
    assert files["openstack/latest/user_data"] == b"hello"
    assert files["openstack/latest/network_data.json"] == b"{}"
    about = json.loads(files["openstack/latest/meta_data.json"])
    assert (about["hostname"], about["public_keys"]) == ("vm", {"0": "ssh-a"})
    assert about["uuid"] == about["instance_id"]
    assert label_of(file) == "config-2"


@pytest.mark.parametrize(
    ("source", "reason", "said"),
    [
        (
            {"cloudInitNoCloud": {"secretRef": {"name": "no"}}},
            "SecretNotFound",
            r"'no' \(cloudInitNoCloud\.secretRef\)",
        ),
        ({"cloudInitNoCloud": {"secretRef": {"name": "bare"}}}, "SecretInvalid", "has no key 'userdata'"),
        ({"cloudInitNoCloud": {"userDataBase64": "!"}}, "DataInvalid", "userDataBase64 is not base64"),
        ({"configMap": {"name": "no"}}, "ConfigMapNotFound", "does not exist in namespace 'here'"),
        ({"secret": {"secretName": "no"}}, "SecretNotFound", "create it"),
        ({"serviceAccount": {"serviceAccountName": "no"}}, "ServiceAccountNotFound", "create it"),
        ({"sysprep": {"secret": {"name": "bare"}}}, "DataInvalid", "unattend.xml"),
        ({"downwardAPI": {"fields": [{"path": "x", "resourceFieldRef": {}}]}}, "DataInvalid", "fieldRef"),
        (
            {"downwardAPI": {"fields": [{"path": "../x", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            "DataInvalid",
            "must stay on the disk",
        ),
    ],
)
async def test_what_is_missing_or_wrong(place, source, reason, said):
    with pytest.raises(DiskFault, match=said) as fault:
        await made(place, Cluster({"bare": {"x": b"s3cr3t"}}), **source)
    assert fault.value.reason == reason
    assert "s3cr3t" not in str(fault.value)
    assert list((place.private / "made").iterdir()) == []


CLUSTER = Cluster(
    {"s": {"password": b"p"}, "answers": {"Unattend.xml": b"<x/>"}},
    {
        "m": {"data": {"a.conf": "1"}, "binaryData": {"b": "AAE="}},
        "kube-root-ca.crt": {"data": {"ca.crt": "PEM"}},
    },
)


@pytest.mark.parametrize(
    ("source", "label", "files"),
    [
        ({"configMap": {"name": "m"}}, "cfgdata", {"a.conf": b"1", "b": b"\0\1"}),
        ({"configMap": {"name": "m", "volumeLabel": "OEMDRV"}}, "OEMDRV", {"a.conf": b"1", "b": b"\0\1"}),
        ({"configMap": {"name": "no", "optional": True}}, "cfgdata", {}),
        ({"secret": {"secretName": "s"}}, "cfgdata", {"password": b"p"}),
        ({"secret": {"secretName": "no", "optional": True}}, "cfgdata", {}),
        ({"sysprep": {"secret": {"name": "answers"}}}, "unattendCD", {"Unattend.xml": b"<x/>"}),
        (
            {"serviceAccount": {"serviceAccountName": "robot"}},
            "cfgdata",
            {"token": b"t0ken", "namespace": b"here", "ca.crt": b"PEM"},
        ),
        (
            {
                "downwardAPI": {
                    "fields": [
                        {"path": "about/name", "fieldRef": {"fieldPath": "metadata.name"}},
                        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
                        {"path": "a", "fieldRef": {"fieldPath": "metadata.labels['a']"}},
                    ]
                }
            },
            "cfgdata",
            {"about/name": b"vm.one", "labels": b'a="1"\nb="\\"2\\""', "a": b"1"},
        ),
    ],
)
async def test_files_of_a_pod_on_a_disk(place, tmp_path, source, label, files):
    file = await made(place, CLUSTER, **source)
    assert files_of(file, tmp_path) == files
    assert label_of(file) == label
