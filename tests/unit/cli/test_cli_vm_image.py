"""Disks as they are named on a command line, and the machine that is made of them."""

from pathlib import Path

import click
import pytest

from ingot.cli.vm.blueprint import Blueprint, name_from
from ingot.cli.vm.image import Image, is_shared, read_image, read_wish


def read(text: str) -> Image:
    return read_image(read_wish(text))


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    made = tmp_path / "Debian 12.raw"
    made.write_bytes(bytes(512))
    return made


def test_a_file_is_used_through_an_overlay_unless_told(disk: Path) -> None:
    volume = read(str(disk)).volume("root")
    assert volume == {
        "name": "root",
        "hostDisk": {"path": str(disk), "type": "Disk"},
        "copy": {"mode": "copy-on-write"},
    }
    assert "copy" not in read(f"{disk},copy=none").volume("root")
    cloned = read(f"{disk},copy=clone,usage=fast").volume("root")
    assert cloned["copy"] == {"mode": "clone", "usageType": "fast"}


def test_a_relative_file_and_an_iso(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(disk.parent)
    assert read("./Debian 12.raw").source["hostDisk"]["path"] == str(disk)
    (disk.parent / "boot.iso").write_bytes(b"x")
    boot = read("boot.iso")
    assert (boot.target, boot.copy) == ("cdrom", "none")
    assert boot.disk("root", 1) == {"name": "root", "bootOrder": 1, "cdrom": {"bus": "sata"}}


def test_a_qcow2_file_is_refused_with_the_cure(tmp_path: Path) -> None:
    made = tmp_path / "a.img"
    made.write_bytes(b"QFI\xfb" + bytes(100))
    with pytest.raises(click.BadParameter, match=r"qemu-img convert -O raw .*a\.img .*a\.raw"):
        read(str(made))


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("nbd://h/x", {"uri": "nbd://h/x", "format": "raw"}),
        ("iscsi://h/iqn.2020-01.org.example:a/1", {"uri": "iscsi://h/iqn.2020-01.org.example:a/1", "format": "raw"}),
        ("https://h/a.qcow2", {"uri": "https://h/a.qcow2", "format": "qcow2"}),
        ("https://h/a.qcow2,format=raw", {"uri": "https://h/a.qcow2", "format": "raw"}),
        ("nbd://h/x,copy=none", {"uri": "nbd://h/x", "format": "raw", "readOnly": False}),
    ],
)
def test_addresses_are_network_volumes(text: str, source: dict[str, object]) -> None:
    assert read(text).source == {"networkVolume": source}


def test_claims_and_empty_disks() -> None:
    assert read("pvc:data").volume("root") == {"name": "root", "persistentVolumeClaim": {"claimName": "data"}}
    assert read("empty:10Gi").volume("a") == {"name": "a", "emptyDisk": {"capacity": "10Gi"}}


def test_a_golden_image_is_cloned_for_the_machine() -> None:
    spec = Blueprint("web", "lab", [read("golden:fedora,size=20Gi"), read("golden:os/debian")], 1, "1Gi").manifest()[
        "spec"
    ]
    assert spec["dataVolumeTemplates"] == [
        {
            "metadata": {"name": "web-root"},
            "spec": {
                "sourceRef": {"kind": "DataSource", "namespace": "golden-images", "name": "fedora"},
                "storage": {"resources": {"requests": {"storage": "20Gi"}}},
            },
        },
        {
            "metadata": {"name": "web-disk2"},
            "spec": {"sourceRef": {"kind": "DataSource", "namespace": "os", "name": "debian"}, "storage": {}},
        },
    ]
    volumes = spec["template"]["spec"]["volumes"]
    assert volumes[0] == {"name": "root", "dataVolume": {"name": "web-root"}}


def test_a_golden_image_that_is_only_read_is_shared() -> None:
    assert [is_shared(read(text)) for text in ("golden:a", "golden:a,target=cdrom", "golden:a,copy=copy-on-write")] == [
        False,
        True,
        True,
    ]
    assert not is_shared(read("pvc:a,target=cdrom"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("golden:", "is not golden:NAME"),
        ("golden:a/b/c", "is not golden:NAME"),
        ("golden:a,size=1Gi,target=cdrom", "that one machine has"),
        ("pvc:a,size=1Gi", "that one machine has"),
        ("quay.io/containerdisks/fedora:40", "ingot volume import quay.io/containerdisks/fedora:40 NAME"),
        ("fedora:40", "ingot volume import fedora:40 NAME"),
        ("/no/such/file", "there is no file"),
        ("nbd://", "nbd"),
        ("https://h/a.raw,copy=none", "can only be read"),
        ("empty:1Gi,copy=clone", "needs no copy"),
        ("pvc:a,format=raw", "for an address only"),
        ("pvc:a,usage=fast", "needs a copy mode"),
        ("pvc:a,copy=some", "is none of none, copy-on-write"),
    ],
)
def test_what_cannot_be_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(click.BadParameter, match=words):
        read(text)


def test_a_directory_is_no_disk(tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="is not a file"):
        read(str(tmp_path))


def test_a_machine_has_its_disks_in_boot_order(disk: Path) -> None:
    images = [read(str(disk)), read("empty:1Gi")]
    spec = Blueprint("web", "lab", images, 2, "1Gi", "#cloud-config\n").manifest()["spec"]
    assert spec["runStrategy"] == "Always"
    template = spec["template"]["spec"]
    assert template["domain"]["cpu"] == {"cores": 2}
    assert [(each["name"], each.get("bootOrder")) for each in template["domain"]["devices"]["disks"]] == [
        ("root", 1),
        ("disk2", 2),
        ("seed", None),
    ]
    assert [volume["name"] for volume in template["volumes"]] == ["root", "disk2", "seed"]


@pytest.mark.parametrize(
    ("title", "name"), [("Debian 12.raw", "debian-12"), ("x.tar.gz", "x-tar"), ("...", "vm"), ("data", "data")]
)
def test_a_machine_is_named_after_its_disk(title: str, name: str) -> None:
    assert name_from(title) == name
