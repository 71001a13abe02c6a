"""Disk chains drawn as trees."""

import pytest

from ingot.api.object import Object
from ingot.cli.vm.chain import size_text, trees


def guest(volume: Object, disk: Object | None = None) -> Object:
    target = {"name": "root", "disk": {"bus": "virtio"}, **(disk or {})}
    return {"domain": {"devices": {"disks": [target]}}, "volumes": [{"name": "root", **volume}]}


def test_device_copy_and_source_are_one_below_the_other() -> None:
    volume = {
        "accessMode": "read-shared",
        "copy": {"mode": "copy-on-write", "usageType": "fast"},
        "nbd": {"host": "h", "export": "e"},
    }
    assert trees(guest(volume), [{"name": "root", "target": "vdb", "size": 2 << 30}]) == [
        "root  vdb  virtio disk, read-shared",
        "└─ overlay (copy-on-write, usage fast)",
        "   └─ nbd://h:10809/e  raw, 2 GiB",
    ]


def test_without_a_copy_the_source_follows_the_device() -> None:
    assert trees(guest({"persistentVolumeClaim": {"claimName": "data"}}), []) == [
        "root  vda  virtio disk, write-exclusive",
        "└─ claim data",
    ]


def test_progress_and_trouble_are_told() -> None:
    status = {"name": "root", "progress": "40%", "reason": "PoolFull", "message": "no space left"}
    rows = trees(guest({"copy": {"mode": "clone"}, "hostDisk": {"path": "/a", "type": "Disk"}}), [status])
    assert rows[0].endswith("(PoolFull: no space left)")
    assert rows[1] == "└─ clone (usage default)  40%"


def test_an_empty_drive() -> None:
    spec = {"domain": {"devices": {"disks": [{"name": "cd", "cdrom": {"bus": "sata"}}]}}}
    assert trees(spec, []) == ["cd  sda  sata cdrom, empty"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"networkVolume": {"uri": "rbd://m/p/i", "format": "raw"}}, "rbd://m/p/i  raw"),
        ({"nbd": {"host": "h", "tls": True, "export": "e"}}, "nbds://h:10809/e  raw"),
        ({"iscsi": {"targetPortal": "h", "iqn": "iqn.2020-01.a:b", "lun": 2}}, "iscsi://h/iqn.2020-01.a:b/2  raw"),
        ({"rbd": {"monitors": ["a", "b:1"], "image": "i"}}, "rbd://a,b:1/rbd/i  raw"),
        ({"gluster": {"host": "h", "volume": "v", "path": "/d/x"}}, "gluster://h:24007/v/d/x  raw"),
        ({"http": {"url": "https://h/x", "format": "qcow2"}}, "https://h/x  qcow2"),
        ({"ephemeral": {"persistentVolumeClaim": {"claimName": "c"}}}, "claim c"),
        ({"dataVolume": {"name": "d"}}, "DataVolume d"),
        ({"containerDisk": {"image": "i"}}, "image i"),
        ({"cloudInitNoCloud": {"userData": "password: x"}}, "cloud-init data (NoCloud)"),
        ({"secret": {"secretName": "s"}}, "files of Secret s"),
    ],
)
def test_every_source_has_its_words(source: Object, told: str) -> None:
    assert trees(guest(source), [])[-1].strip() == f"└─ {told}"


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 bytes"), (1536, "1.5 KiB"), (12 << 20, "12 MiB"), (5 << 40, "5 TiB")]
)
def test_sizes(count: int, told: str) -> None:
    assert size_text(count) == told
