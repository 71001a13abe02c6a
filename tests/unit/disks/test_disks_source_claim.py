"""Claims: what is told of those that are missing, the details that configure QEMU, and hostile volumes."""

from __future__ import annotations

import base64
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from disks_objects import Objects, claim, place, secret, volume

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.claims import claim_name, driver_of, is_direct
from ingot.disks.endpoint import Block, Credentials, Endpoint, File, Network
from ingot.disks.fault import DiskFault
from ingot.disks.kubelet import volume_path
from ingot.disks.resolve import resolve

SOURCE = {"persistentVolumeClaim": {"claimName": "claim"}}
LOCAL = {"local": {"path": "/mnt/a"}}


async def endpoint(directory: Path, source: dict[str, Any], *objects: dict[str, Any]) -> Endpoint:
    return await resolve({"name": "data", **source}, {}, place(directory), Objects(*objects))  # type: ignore[arg-type]


async def refused(directory: Path, *objects: dict[str, Any], **more: Any) -> DiskFault:
    with pytest.raises(DiskFault) as caught:
        await endpoint(directory, SOURCE | more, *objects)
    return caught.value


@pytest.fixture
def mounted(tmp_path: Path) -> Path:
    """Where the kubelet mounts the claim."""
    path = volume_path(tmp_path / "kubelet", place(tmp_path).pod_uid, volume(**LOCAL))
    path.mkdir(parents=True)
    return path


def raw(path: Path, size: int = 1 << 20) -> None:
    with path.open("wb") as file:
        file.truncate(size)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (SOURCE, "claim"),
        ({"dataVolume": {"name": "claim"}}, "claim"),
        ({"ephemeral": SOURCE}, "claim"),
        ({"emptyDisk": {"capacity": "1Gi"}}, None),
    ],
)
def test_names_of_claims(source: dict[str, Any], name: str | None) -> None:
    assert claim_name({"name": "x", **source}) == name


def test_who_carries_a_volume() -> None:
    iscsi, local = volume(iscsi={}), volume(**LOCAL)
    assert driver_of({"name": "x", "driver": {"name": "kubelet"}}) == "kubelet"
    assert driver_of({"name": "x"}) == ""
    assert is_direct(iscsi, "")
    assert is_direct(volume(rbd={}), "qemu")
    assert not is_direct(iscsi, "kubelet")
    assert not is_direct(local, "")


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ([], "ClaimNotFound"),
        ([claim(phase="Pending")], "ClaimNotBound"),
        ([claim(phase="Lost")], "ClaimLost"),
        ([claim()], "VolumeNotFound"),
        ([claim(), volume(claimed="another", **LOCAL)], "ClaimNotBound"),
        ([claim(), volume(**LOCAL)], "VolumeNotMounted"),
        ([claim(), volume("Block", **LOCAL)], "VolumeNotMounted"),
        ([claim(), volume(novel={})], "VolumeUnsupported"),
    ],
)
async def test_what_stands_in_the_way(tmp_path: Path, objects: list[dict[str, Any]], reason: str) -> None:
    fault = await refused(tmp_path, *objects)
    assert fault.reason == reason
    assert "claim" in fault.message or "pv-1" in fault.message
    assert "tried again in" in fault.message


async def test_driver_qemu_needs_a_volume_that_it_knows(tmp_path: Path) -> None:
    fault = await refused(tmp_path, claim(), volume(**LOCAL), driver={"name": "qemu"})
    assert fault.reason == "DriverUnsupported"


async def test_a_disk_image(tmp_path: Path, mounted: Path) -> None:
    raw(mounted / "disk.img")
    (mounted / "lost+found").mkdir()
    for source in (SOURCE, {"dataVolume": {"name": "claim"}}, {"ephemeral": SOURCE}):
        found = await endpoint(tmp_path, source, claim(), volume(**LOCAL))
        assert isinstance(found, File)
        assert found.path == mounted / "disk.img"
        assert f"file:node-1:{mounted / 'disk.img'}" in found.identities


@pytest.mark.parametrize("more", ["other.img", ".hidden", "directory/"])
async def test_more_than_the_image(tmp_path: Path, mounted: Path, more: str) -> None:
    raw(mounted / "disk.img")
    (mounted / more).mkdir() if more.endswith("/") else raw(mounted / more)
    fault = await refused(tmp_path, claim(), volume(**LOCAL))
    assert fault.reason == "TooManyFiles"
    assert more.rstrip("/") in fault.message


async def test_very_many_files_are_not_all_told(tmp_path: Path, mounted: Path) -> None:
    for number in range(50):
        raw(mounted / f"{number:099d}", 1)
    raw(mounted / "disk.img")
    assert len((await refused(tmp_path, claim(), volume(**LOCAL))).message) < 700


@pytest.mark.parametrize(
    "more",
    [
        {"copy": {"mode": "copy-on-write"}},
        {"accessMode": "read-shared"},
        {"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}},
    ],
)
async def test_no_image_where_one_is_to_be_read(tmp_path: Path, mounted: Path, more: dict[str, Any]) -> None:
    assert (await refused(tmp_path, claim(), volume(**LOCAL), **more)).reason == "DiskImageMissing"
    assert not (mounted / "disk.img").exists()


@pytest.mark.parametrize("source", [{"dataVolume": {"name": "claim"}}, {"ephemeral": SOURCE}])
async def test_an_import_that_has_not_come_is_no_blank_disk(
    tmp_path: Path, mounted: Path, source: dict[str, Any]
) -> None:
    with pytest.raises(DiskFault, match=r"has no disk\.img"):
        await endpoint(tmp_path, source, claim(), volume(**LOCAL))


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(("capacity", "size"), [("3Mi", 3 << 20), ("10M", 9_998_336)])
async def test_an_empty_claim_gets_a_blank_disk_of_its_size_in_whole_blocks(
    tmp_path: Path, mounted: Path, begun: bool, capacity: str, size: int
) -> None:
    (mounted / "lost+found").mkdir()
    if begun:
        (mounted / "disk.img").touch(mode=0o600)
    sized = claim() | {"status": {"phase": "Bound", "capacity": {"storage": capacity}}}
    found = await endpoint(tmp_path, SOURCE, sized, volume(**LOCAL))
    assert isinstance(found, File)
    assert (found.path.stat().st_size, found.path.stat().st_blocks) == (size, 0)
    assert found.path.stat().st_mode & 0o777 == 0o600


async def test_a_claim_with_other_files_gets_no_disk(tmp_path: Path, mounted: Path) -> None:
    raw(mounted / "other.img")
    assert (await refused(tmp_path, claim(), volume(**LOCAL))).reason == "DiskImageMissing"
    assert not (mounted / "disk.img").exists()


async def test_a_claim_below_one_block_is_told(tmp_path: Path, mounted: Path) -> None:
    tiny = claim() | {"status": {"phase": "Bound", "capacity": {"storage": "100m"}}}
    fault = await refused(tmp_path, tiny, volume(**LOCAL))
    assert (fault.reason, (mounted / "disk.img").exists()) == ("ClaimTooSmall", False)
    assert "4096" in fault.message


async def test_a_filesystem_that_is_too_small_is_told(tmp_path: Path, mounted: Path) -> None:
    huge = claim() | {"status": {"phase": "Bound", "capacity": {"storage": "1Ei"}}}
    fault = await refused(tmp_path, huge, volume(**LOCAL))
    assert (fault.reason, (mounted / "disk.img").exists()) == ("NoSpace", False)


def _link(path: Path) -> None:
    raw(path.parent.parent / "elsewhere.img")
    path.symlink_to(path.parent.parent / "elsewhere.img")


def _dangling(path: Path) -> None:
    path.symlink_to("/nowhere/at/all")


def _socket(path: Path) -> None:
    # A socket's own path may be too long for the system.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (_link, "a symbolic link"),
        (_dangling, "a symbolic link"),
        (Path.mkdir, "a directory"),
        (os.mkfifo, "a pipe"),
        (_socket, "a socket"),
    ],
)
async def test_what_is_not_an_image(tmp_path: Path, mounted: Path, make: Any, told: str) -> None:
    make(mounted / "disk.img")
    fault = await refused(tmp_path, claim(), volume(**LOCAL))
    assert fault.reason == "BadImage"
    assert told in fault.message


@pytest.mark.parametrize(
    ("offset", "magic", "name"),
    [(0, b"QFI\xfb", "qcow2"), (0, b"KDMV", "VMDK"), (0, b"vhdxfile", "VHDX"), (64, b"\x7f\x10\xda\xbe", "VDI")],
)
async def test_another_format(tmp_path: Path, mounted: Path, offset: int, magic: bytes, name: str) -> None:
    (mounted / "disk.img").write_bytes(bytes(offset) + magic + bytes(4096))
    fault = await refused(tmp_path, claim(), volume(**LOCAL))
    assert fault.reason == "BadImage"
    assert f"must be raw, and is a {name} image" in fault.message


ISCSI = {"targetPortal": "10.0.0.1", "iqn": "iqn.2020-01.A:b", "lun": 3, "initiatorName": "iqn.2020-01.me:x"}


async def test_an_iscsi_volume_configures_qemu(tmp_path: Path) -> None:
    account = secret("chap", "storage", node__session__auth__username=b"u", node__session__auth__password=b"p")
    reference = {"secretRef": {"name": "chap", "namespace": "storage"}}
    chap = volume(iscsi={**ISCSI, **reference, "chapAuthSession": True})
    found = await endpoint(tmp_path, SOURCE, claim(), chap, account)
    direct = Network("iscsi", "iqn.2020-01.A:b", (HostPort("10.0.0.1", 3260),), lun=3, initiator="iqn.2020-01.me:x")
    assert isinstance(found, Network)
    assert found.credentials == Credentials("u", b"p")
    assert (found.protocol, found.name, found.hosts, found.lun) == ("iscsi", direct.name, direct.hosts, 3)
    assert found.initiator == direct.initiator
    other = await endpoint(tmp_path, {"iscsi": {"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2020-01.a:B", "lun": 3}})
    assert found.identities & other.identities, "one LUN is one storage, whichever way it was reached"
    plain = await endpoint(tmp_path, SOURCE, claim(), volume(iscsi={**ISCSI, **reference}))
    assert isinstance(plain, Network)
    assert plain.credentials is None


async def test_a_portal_that_answers_is_preferred(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        portals = {"targetPortal": "127.0.0.1:1", "portals": ["127.0.0.1:2", f"127.0.0.1:{port}"]}
        found = await endpoint(tmp_path, SOURCE, claim(), volume(iscsi=ISCSI | portals))
    assert isinstance(found, Network)
    assert found.hosts == (HostPort("127.0.0.1", port),)


async def test_an_rbd_volume_configures_qemu(tmp_path: Path) -> None:
    key = base64.b64encode(b"the key")
    spec = {"monitors": ["127.0.0.1:6789"], "image": "i", "pool": "p", "user": "u"}
    with_secret = volume(rbd=spec | {"secretRef": {"name": "ceph"}, "keyring": "/nowhere"})
    found = await endpoint(tmp_path, SOURCE, claim(), with_secret, secret("ceph", key=key))
    assert isinstance(found, Network)
    assert (found.protocol, found.name) == ("rbd", "p/i")
    assert found.credentials == Credentials("u", b"the key")
    keyring = tmp_path / "keyring"
    keyring.write_text(f'[client.u]\n\tkey = {key.decode()}\n\tcaps mon = "allow *"\n')
    by_keyring = await endpoint(tmp_path, SOURCE, claim(), volume(rbd=spec | {"keyring": str(keyring)}))
    assert by_keyring == found
    without = await endpoint(tmp_path, SOURCE, claim(), volume(rbd=spec | {"keyring": "/nowhere"}))
    assert isinstance(without, Network)
    assert without.credentials is None
    keyring.write_text("hidden content")
    fault = await refused(tmp_path, claim(), volume(rbd=spec | {"keyring": str(keyring)}))
    assert fault.reason == "KeyringInvalid"
    assert "hidden" not in fault.message


async def test_the_kubelet_is_chosen(tmp_path: Path) -> None:
    pv = volume(iscsi=ISCSI)
    path = volume_path(tmp_path / "kubelet", place(tmp_path).pod_uid, pv)
    path.mkdir(parents=True)
    raw(path / "disk.img")
    found = await endpoint(tmp_path, SOURCE | {"driver": {"name": "kubelet"}}, claim(), pv)
    assert isinstance(found, File)
    assert "iscsi:10.0.0.1:3260/iqn.2020-01.a:b/3" in found.identities


async def test_a_block_volume(tmp_path: Path, loop: tuple[Path, Path]) -> None:
    file, device = loop
    pv = volume("Block", local={"path": str(device)})
    path = volume_path(tmp_path / "kubelet", place(tmp_path).pod_uid, pv)
    path.parent.mkdir(parents=True)
    path.symlink_to(device)
    found = await endpoint(tmp_path, SOURCE, claim(), pv)
    assert found == Block(device, identities=found.identities)
    on_host = await endpoint(tmp_path, {"hostDisk": {"path": str(file), "type": "Disk"}})
    assert found.identities & on_host.identities
    path.unlink()
    path.symlink_to(file)
    assert (await refused(tmp_path, claim(), pv)).reason == "BadImage"


async def test_a_local_volume_and_the_file_in_it_are_one(tmp_path: Path) -> None:
    pv = volume(local={"path": str(tmp_path / "local")})
    path = volume_path(tmp_path / "kubelet", place(tmp_path).pod_uid, pv)
    path.parent.mkdir(parents=True)
    (tmp_path / "local").mkdir()
    path.symlink_to(tmp_path / "local")
    raw(tmp_path / "local/disk.img")
    found = await endpoint(tmp_path, SOURCE, claim(), pv)
    on_host = await endpoint(tmp_path, {"hostDisk": {"path": f"{tmp_path}/local/disk.img", "type": "Disk"}})
    assert found.identities == on_host.identities
