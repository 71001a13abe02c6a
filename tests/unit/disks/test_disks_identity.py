"""Identities: two ways to one storage have one in common, two storages have none."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from disks_objects import volume

from ingot.api.kubevirt.uri import HostPort
from ingot.disks import identity
from ingot.disks.fault import DiskFault
from ingot.disks.identity_words import words
from ingot.host.descriptor import Descriptor

NODE = "node-1"


async def served(protocol: str, host: str, port: int, name: str = "x", node: str = NODE) -> frozenset[str]:
    return await identity.served("data", protocol, [HostPort(host, port)], name, node)


async def test_names_and_addresses_are_one() -> None:
    assert await served("nbd", "localhost", 10809) & await served("nbd", "127.0.0.1", 10809)
    assert await served("nbd", "192.0.2.1", 10809) == {"nbd:192.0.2.1:10809/x"}
    assert await served("nbd", "2001:DB8::1", 1) == await served("nbd", "2001:db8:0::1", 1)


async def test_exports_ports_and_loopbacks_of_other_nodes_are_others() -> None:
    here = await served("nbd", "127.0.0.1", 10809)
    assert not here & await served("nbd", "127.0.0.1", 10809, "X")
    assert not here & await served("nbd", "127.0.0.1", 10810)
    assert not here & await served("nbd", "127.0.0.1", 10809, node="node-2")


async def test_one_monitor_in_common_is_the_same_cluster() -> None:
    many = [HostPort("192.0.2.1", 6789), HostPort("192.0.2.2", 6789)]
    both = await identity.served("data", "rbd", many, "p/i", NODE)
    assert both & await served("rbd", "192.0.2.2", 6789, "p/i")
    assert both & await served("rbd", "192.0.2.2", 3300, "p/i"), "a monitor has two ports"
    assert not both & await served("rbd", "192.0.2.2", 6789, "p/j")


async def test_a_host_without_an_address() -> None:
    with pytest.raises(DiskFault) as caught:
        await served("nbd", "no-such-host.invalid", 1)
    assert caught.value.reason == "Unreachable"
    assert "no-such-host.invalid" in caught.value.message


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"csi": {"driver": "d.io", "volumeHandle": "h"}}, {"csi:d.io/h"}),
        (
            {"iscsi": {"targetPortal": "192.0.2.1", "portals": ["192.0.2.2:99"], "iqn": "iqn.2020-01.A:b", "lun": 1}},
            {"iscsi:192.0.2.1:3260/iqn.2020-01.a:b/1", "iscsi:192.0.2.2:99/iqn.2020-01.a:b/1"},
        ),
        ({"rbd": {"monitors": ["192.0.2.1"], "image": "i"}}, {"rbd:192.0.2.1:6789/rbd/i"}),
        ({"nfs": {"server": "192.0.2.1", "path": "/a//b/"}}, {"nfs:192.0.2.1:2049/a/b/disk.img"}),
        ({"fc": {"targetWWNs": ["50A"], "lun": 2}}, {"fc:50a/2"}),
        ({"local": {"path": "/a"}}, set()),
        ({"cephfs": {}}, {"pv:pv-1"}),
    ],
)
async def test_what_a_volume_tells(source: dict[str, Any], expected: set[str]) -> None:
    assert await identity.volume("data", volume(**source), NODE) == expected


def test_a_loop_device_is_its_file(loop: tuple[Path, Path], tmp_path: Path) -> None:
    file, device = loop
    (tmp_path / "link").symlink_to(device)
    assert identity.block(NODE, device) > identity.file(NODE, Descriptor.open(file, os.O_RDONLY))
    assert identity.block(NODE, tmp_path / "link") == identity.block(NODE, device)
    assert f"block:{NODE}:{device.name}" in identity.block(NODE, device)


def test_a_disk_holds_what_lies_on_it(tmp_path: Path) -> None:
    disk = tmp_path / "sda"
    for partition in ("sda1", "sda2"):
        (disk / partition).mkdir(parents=True)
        (disk / partition / "partition").write_text("1")
    (disk / "holders").mkdir()
    (tmp_path / "dm-0").mkdir()
    (disk / "sda2/holders").mkdir()
    (disk / "sda2/holders/dm-0").symlink_to(tmp_path / "dm-0")
    names = {"sda", "sda1", "sda2", "dm-0"}
    assert identity._device(NODE, disk) == {f"block:{NODE}:{name}" for name in names}
    assert identity._device(NODE, disk / "sda1") == {f"block:{NODE}:sda1"}


async def test_a_target_of_the_same_name_on_another_server_is_another() -> None:
    own, foreign = [HostPort("192.0.2.1", 3260)], [HostPort("198.51.100.1", 3260)]
    assert await iscsi(own) & await iscsi([*own, HostPort("192.0.2.2", 3260)])
    assert not await iscsi(own) & await iscsi(foreign)


async def iscsi(portals: list[HostPort]) -> frozenset[str]:
    return await identity.iscsi("data", portals, "iqn.2020-01.org:disks", 2, NODE)


async def test_a_token_in_an_address_is_not_told() -> None:
    one, other = [await served("http", "192.0.2.1", 80, f"a?sig={token}") for token in ("HUSH", "HISH")]
    assert not one & other
    assert "HUSH" not in str(one)
    assert words(next(iter(one))) == "http://192.0.2.1:80/a"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("iscsi:192.0.2.1:3260/iqn.a:b/2", "LUN 2 of iqn.a:b at 192.0.2.1:3260"),
        ("nbd:node-1@127.0.0.1:10809/x/y", "NBD export 'x/y' at 127.0.0.1:10809"),
        ("rbd:[2001:db8::1]:6789/p/i", "RBD image 'p/i' at [2001:db8::1]:6789"),
        ("nfs:192.0.2.1:2049/a/disk.img", "NFS file 'a/disk.img' at 192.0.2.1:2049"),
        ("file:node-1:/a/b", "the file /a/b of node 'node-1'"),
        ("file:shared:/a/b", "the shared file /a/b"),
        ("block:node-1:sda", "the device sda of node 'node-1'"),
        ("csi:d.io/h/1", "volume 'h/1' of CSI driver d.io"),
        ("pv:pv-1", "PersistentVolume 'pv-1'"),
        ("fc:50a/2", "fc:50a/2"),
    ],
)
def test_identities_in_words(name: str, told: str) -> None:
    assert words(name) == told
