"""Host disks: found, made, and never taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from disks_objects import Objects, place

from ingot.disks.endpoint import File
from ingot.disks.fault import DiskFault
from ingot.disks.resolve import resolve


async def endpoint(directory: Path, path: Path | str, **spec: Any) -> File:
    source = {"name": "data", "hostDisk": {"path": str(path), "type": "Disk", **spec}}
    found = await resolve(source, {}, place(directory), Objects())  # type: ignore[arg-type]
    assert isinstance(found, File)
    return found


async def refused(directory: Path, path: Path | str, **spec: Any) -> DiskFault:
    with pytest.raises(DiskFault) as caught:
        await endpoint(directory, path, **spec)
    return caught.value


async def test_a_disk_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.img").write_bytes(bytes(4096))
    (tmp_path / "link").symlink_to(tmp_path / "real")
    found = await endpoint(tmp_path, tmp_path / "link/a.img")
    assert found.path == tmp_path / "real/a.img"
    assert found.identities & (await endpoint(tmp_path, tmp_path / "real/a.img")).identities


async def test_hard_links_are_one_storage(tmp_path: Path) -> None:
    (tmp_path / "a.img").write_bytes(bytes(4096))
    (tmp_path / "b.img").hardlink_to(tmp_path / "a.img")
    one, other = await endpoint(tmp_path, tmp_path / "a.img"), await endpoint(tmp_path, tmp_path / "b.img")
    assert one.identities & other.identities


async def test_a_shared_path_is_one_storage_on_all_nodes(tmp_path: Path) -> None:
    (tmp_path / "a.img").write_bytes(bytes(4096))
    assert f"file:shared:{tmp_path}/a.img" in (await endpoint(tmp_path, tmp_path / "a.img", shared=True)).identities


async def test_a_disk_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new/dir/a.img"
    await endpoint(tmp_path, path, type="DiskOrCreate", capacity="32Mi")
    assert path.stat().st_size == 32 << 20
    assert path.stat().st_blocks == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["a.img"]
    path.write_bytes(b"what the guest wrote")
    await endpoint(tmp_path, path, type="DiskOrCreate", capacity="64Mi")
    assert path.read_bytes() == b"what the guest wrote"


async def test_a_disk_that_is_made_has_whole_blocks(tmp_path: Path) -> None:
    """QEMU writes to no other without the page cache: a guest would not start from it."""
    await endpoint(tmp_path, tmp_path / "a.img", type="DiskOrCreate", capacity="1M")
    assert (tmp_path / "a.img").stat().st_size == 245 * 4096


async def test_what_is_refused(tmp_path: Path) -> None:
    fault = await refused(tmp_path, tmp_path / "none.img")
    assert fault.reason == "DiskImageMissing"
    assert "DiskOrCreate" in fault.message
    assert "node-1" in fault.message
    assert (await refused(tmp_path, "a.img")).retry is None
    assert "capacity" in (await refused(tmp_path, tmp_path / "a.img", type="DiskOrCreate")).message
    full = await refused(tmp_path, tmp_path / "a.img", type="DiskOrCreate", capacity="4Ei")
    assert full.reason == "NoSpace"
    assert not (tmp_path / "a.img").exists()
    (tmp_path / "file").write_bytes(b"x")
    in_file = await refused(tmp_path, tmp_path / "file/a.img", type="DiskOrCreate", capacity="1Mi")
    assert in_file.reason == "HostDiskNotMade"


async def test_a_link_is_not_a_disk_and_nothing_is_made_through_it(tmp_path: Path) -> None:
    (tmp_path / "a.img").symlink_to(tmp_path / "victim.img")
    fault = await refused(tmp_path, tmp_path / "a.img", type="DiskOrCreate", capacity="1Mi")
    assert "a symbolic link" in fault.message
    assert not (tmp_path / "victim.img").exists()


async def test_a_qcow2_must_be_converted(tmp_path: Path) -> None:
    (tmp_path / "a.img").write_bytes(b"QFI\xfb" + bytes(4096))
    fault = await refused(tmp_path, tmp_path / "a.img")
    assert fault.reason == "BadImage"
    assert "qemu-img convert -f qcow2 -O raw" in fault.message


@pytest.mark.parametrize("path", ["ingot/pki/admin.pem", "ingot/node/machines/other/a.img", "kubelet/pods/other/a"])
async def test_what_is_the_nodes_own_is_nobodys_disk(tmp_path: Path, path: str) -> None:
    secret = tmp_path / path
    secret.parent.mkdir(parents=True)
    secret.write_bytes(bytes(4096))
    (tmp_path / "link").symlink_to(secret)
    for way in (secret, tmp_path / "link", tmp_path / "other/.." / path):
        fault = await refused(tmp_path, way)
        assert (fault.reason, fault.retry) == ("InvalidVolume", None)
        assert (
            f"{way} is in {tmp_path / path.split('/')[0]}, where node 'node-1' keeps what is its own" in fault.message
        )
    await refused(tmp_path, secret.parent / "new", type="DiskOrCreate", capacity="1Mi")
    assert not (secret.parent / "new").exists()


async def test_links_in_a_circle_are_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "cannot be opened" in (await refused(tmp_path, tmp_path / "loop/a.img")).message
