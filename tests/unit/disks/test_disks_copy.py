"""Copies, made with the real qemu-img."""

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ingot.api.kubevirt.uri import HostPort
from ingot.disks import copy as copies
from ingot.disks.copy import copy, discard
from ingot.disks.endpoint import Credentials, File, Format, Network
from ingot.disks.fault import DiskFault
from ingot.disks.imageopts import address, image, options_of
from ingot.disks.inspect import probe
from ingot.host.command import run
from ingot.host.descriptor import Descriptor
from ingot.host.process import Process

MIB = 1 << 20
NAME = "u1-root"


@pytest.fixture
def pool(tmp_path):
    made = tmp_path / "pool"
    made.mkdir()
    return made


@pytest.fixture
def source(tmp_path):
    """A raw image of 8 MiB with data at its beginning and its end."""
    path = tmp_path / "source.img"
    with path.open("wb") as file:
        file.write(os.urandom(64 * 1024))
        file.seek(8 * MIB - 4096)
        file.write(os.urandom(4096))
    return File(path, identities=frozenset({"file:x"}))


@pytest.fixture
def packed(source, tmp_path):
    """The source as a qcow2."""
    path = tmp_path / "packed.qcow2"
    subprocess.check_call(["qemu-img", "convert", "-O", "qcow2", source.path, path])
    return File(path, Format.QCOW2)


@pytest.fixture
def full(pool, source):
    """The pool, with room for less than the source."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a small filesystem to fill")
    source.path.write_bytes(os.urandom(MIB))
    subprocess.check_call(["mount", "-t", "tmpfs", "-o", "size=64k", "none", pool])
    yield pool
    subprocess.check_call(["umount", pool])


@pytest.fixture
def export(source, tmp_path):
    """The source behind an NBD server."""
    socket = tmp_path / "nbd.sock"
    server = subprocess.Popen(["nbdkit", "-f", "-U", socket, "-P", tmp_path / "ready", "file", source.path])
    while not (tmp_path / "ready").exists():
        assert server.poll() is None
        time.sleep(0.01)
    yield Network("nbd", "", socket=socket)
    server.terminate()
    server.wait()


@pytest.fixture
def slow_export(tmp_path):
    """An NBD server that takes a minute for a read."""
    socket = tmp_path / "slow.sock"
    where = ["-U", socket, "-P", tmp_path / "slow.ready"]
    server = subprocess.Popen(["nbdkit", "-f", *where, "--filter=delay", "pattern", "1M", "rdelay=60"])
    while not (tmp_path / "slow.ready").exists():
        assert server.poll() is None
        time.sleep(0.01)
    yield Network("nbd", "", socket=socket)
    server.kill()
    server.wait()


@pytest.fixture
def reflinks(tmp_path):
    """A directory on a filesystem that can share blocks."""
    if os.getuid() != 0 or shutil.which("mkfs.xfs") is None:
        pytest.skip("root and mkfs.xfs (xfsprogs) are needed for a filesystem that can share blocks")
    image, mount = tmp_path / "xfs.img", tmp_path / "xfs"
    with image.open("wb") as file:
        file.truncate(320 * MIB)
    mount.mkdir()
    subprocess.check_call(["mkfs.xfs", "-q", image])
    subprocess.check_call(["mount", "-o", "loop", image, mount])
    yield mount
    subprocess.check_call(["umount", mount])


def copier_of(path):
    """Waits for the process that has this file as its last argument."""
    while True:
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (entry / "cmdline").read_bytes().endswith(f"\0{path}\0".encode()):
                    return Process.of(int(entry.name))
        time.sleep(0.01)


def info(path):
    return json.loads(subprocess.check_output(["qemu-img", "info", "-U", "--output", "json", path]))


async def made(source, pool, mode, progress=lambda done, size: None):
    return await copy("root", mode, source, pool, NAME, pool.parent, progress)


def names(pool):
    return sorted(entry.name for entry in pool.iterdir())


@pytest.mark.parametrize("mode", ["copy-on-write", "copy-on-read"])
async def test_an_overlay(source, pool, mode):
    overlay = await made(source, pool, mode)
    assert overlay == File(pool / "u1-root.qcow2", Format.QCOW2, backing=source)
    said = info(overlay.path)
    assert (said["format"], said["virtual-size"]) == ("qcow2", 8 * MIB)
    assert (said["backing-filename"], said["backing-filename-format"]) == (str(source.path), "raw")
    assert overlay.path.stat().st_mode & 0o777 == 0o600
    assert names(pool) == ["u1-root.qcow2"]


async def test_a_clone_is_the_source_and_its_holes_are_holes(source, pool):
    heard = []
    clone = await made(source, pool, "clone", lambda done, size: heard.append((done, size)))
    assert clone == File(pool / "u1-root.img")
    assert clone.path.read_bytes() == source.path.read_bytes()
    assert clone.path.stat().st_blocks * 512 < MIB
    assert heard[-1] == (8 * MIB, 8 * MIB)
    assert clone.path.stat().st_mode & 0o777 == 0o600
    assert names(pool) == ["u1-root.img"]


async def test_a_clone_shares_blocks_where_it_can(source, reflinks):
    moved = File(reflinks / "source.img")
    moved.path.write_bytes(os.urandom(4 * MIB))
    before = shutil.disk_usage(reflinks).free
    clone = await copy("root", "clone", moved, reflinks, NAME, reflinks, lambda *_: None)
    assert clone.path.read_bytes() == moved.path.read_bytes()
    assert before - shutil.disk_usage(reflinks).free < MIB


async def test_a_clone_of_a_qcow2_is_raw(source, packed, pool):
    clone = await made(packed, pool, "clone")
    assert clone.format is Format.RAW
    assert hashlib.sha256(clone.path.read_bytes()).digest() == hashlib.sha256(source.path.read_bytes()).digest()


async def test_a_clone_of_an_overlay_has_what_is_below_it(source, pool, tmp_path):
    overlay = await copy("root", "copy-on-write", source, tmp_path, "u2-below", tmp_path, lambda *_: None)
    assert (await made(overlay, pool, "clone")).path.read_bytes() == source.path.read_bytes()


@pytest.mark.parametrize("mode", ["clone", "copy-on-write"])
async def test_a_copy_that_is_there_is_left_alone(source, pool, mode):
    first = await made(source, pool, mode)
    before = first.path.stat()
    source.path.unlink()
    assert await made(source, pool, mode) == first
    assert first.path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("mode", ["clone", "copy-on-write"])
async def test_a_half_made_copy_is_not_taken_for_a_whole_one(source, pool, mode):
    suffix = "img" if mode == "clone" else "qcow2"
    left = pool / f".u1-root.{suffix}.partial"
    left.write_bytes(b"half")
    copied = await made(source, pool, mode)
    assert info(copied.path)["virtual-size"] == 8 * MIB
    assert not left.exists()


async def test_a_cancelled_copy_leaves_nothing(source, pool):
    """The copy is cancelled while qemu-img runs: its first word is the moment."""
    begun = asyncio.Event()
    task = asyncio.create_task(made(source, pool, "clone", lambda *_: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert names(pool) == []


SLOW = """
import asyncio, sys
from pathlib import Path
from ingot.disks.copy import copy
from ingot.disks.endpoint import Network
socket, pool = map(Path, sys.argv[1:])
asyncio.run(copy("root", "clone", Network("nbd", "", socket=socket), pool, "u1-root", pool.parent, lambda *_: None))
"""


async def test_a_copy_ends_with_its_maker(slow_export, source, pool):
    """A copy whose maker is killed stops writing; the next one begins anew."""
    partial = pool / ".u1-root.img.partial"
    maker = await asyncio.create_subprocess_exec(sys.executable, "-c", SLOW, slow_export.socket, pool)
    copier = await asyncio.to_thread(copier_of, partial)
    maker.kill()
    await maker.wait()
    assert await copier.ended(5)
    assert names(pool) == [partial.name]
    await made(source, pool, "clone")
    assert names(pool) == ["u1-root.img"]


async def test_discarding_takes_all_of_one_machine(source, pool):
    await made(source, pool, "clone")
    (pool / ".u1-data.img.partial").touch()
    (pool / "u2-root.img").touch()
    assert discard(pool, "u1") is True
    assert names(pool) == ["u2-root.img"]
    assert discard(pool, "u1") is False
    assert discard(pool / "none", "u1") is False


async def test_a_pool_without_room_is_refused_before_copying(source, pool, monkeypatch):
    monkeypatch.setattr(copies._Maker, "_free", lambda _: 4096)
    monkeypatch.setattr(copies._Maker, "_reflink", lambda _: False)
    with pytest.raises(DiskFault, match=f"the pool {pool} has no room .* and 4096 are free") as fault:
        await made(source, pool, "clone")
    assert (fault.value.reason, fault.value.retry) == ("PoolFull", 30.0)
    assert names(pool) == []


@pytest.mark.parametrize("mode", ["clone", "copy-on-write"])
async def test_a_pool_that_is_full_meanwhile(source, full, monkeypatch, mode):
    monkeypatch.setattr(copies._Maker, "_free", lambda _: 1 << 40)
    with pytest.raises(DiskFault, match="tried again every 30 s until there is room") as fault:
        await made(source, full, mode)
    assert fault.value.reason == "PoolFull"
    assert names(full) == []


async def test_a_source_that_is_not_there(pool):
    with pytest.raises(DiskFault, match=r"/none.img cannot be copied: .*No such file") as fault:
        await made(File(Path("/none.img")), pool, "clone")
    assert fault.value.reason == "CopyFailed"
    with pytest.raises(DiskFault, match=r"nbd://127.0.0.1:1/x cannot be copied: .*Connection refused") as fault:
        await made(Network("nbd", "x", (HostPort("127.0.0.1", 1),)), pool, "copy-on-write")
    assert "json" not in fault.value.message
    assert names(pool) == []


async def test_a_network_source(source, export, pool):
    assert (await made(export, pool, "clone")).path.read_bytes() == source.path.read_bytes()
    overlay = await made(export, pool, "copy-on-write")
    assert info(overlay.path)["backing-filename"] == f"nbd+unix:///?socket={export.socket}"
    assert overlay.backing == export


def test_a_secret_is_in_a_private_file_while_it_is_needed(tmp_path):
    secret = Credentials("joe", b"s3cr3t\x00")
    source = Network("iscsi", "iqn.2017-01.io:x", (HostPort("::1", 3260),), lun=2, credentials=secret)
    with image(File(Path("/o"), Format.QCOW2, backing=source), tmp_path) as opened:
        [path] = tmp_path.iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
        told = json.loads(opened.arguments[1])
        assert told["file"] == str(path)
        said = subprocess.run(
            ["qemu-img", "info", *opened.arguments, opened.name], capture_output=True, text=True, check=False
        )
        assert "s3cr3t" not in opened.name + str(opened.arguments)
        assert "Could not open '/o'" in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_addresses_hold_no_secret():
    secret = Credentials("joe", b"pass")
    hosts = (HostPort("m", 6789), HostPort("::1", 6789))
    assert address(Network("rbd", "p/i", hosts, credentials=secret)) == r"rbd:p/i:mon_host=m\:6789\;[\:\:1]\:6789"
    assert address(Network("iscsi", "iqn.a", hosts[:1], lun=1, credentials=secret)) == "iscsi://m:6789/iqn.a/1"
    assert address(Network("gluster", "v/a b", hosts[:1])) == "gluster://m:6789/v/a%20b"
    assert address(Network("https", "/a%20b?token", hosts[:1])) == "https://m:6789/a%20b"


def test_options_of_each_protocol():
    secret = Credentials("joe", b"pass")
    host = HostPort("h", 1)
    rbd = options_of(Network("rbd", "p/n/i", (host,), credentials=secret))["file"]
    assert (rbd["pool"], rbd["namespace"], rbd["image"], rbd["user"]) == ("p", "n", "i", "joe")
    gluster = options_of(Network("gluster", "v/a/b", (host,)))["file"]
    assert (gluster["volume"], gluster["path"]) == ("v", "a/b")
    assert options_of(Network("nbd", "e", (host,), format=Format.QCOW2))["backing"] is None
    with pytest.raises(ValueError, match="through a bridge"):
        options_of(Network("http", "/a", (host,)))


@pytest.mark.parametrize("mode", ["clone", "copy-on-write"])
async def test_what_was_opened_is_copied_whatever_its_name_leads_to_by_then(mode, source, pool, tmp_path):
    opened = replace(source, opened=Descriptor.open(source.path, os.O_RDONLY))
    content = source.path.read_bytes()
    (tmp_path / "secret").write_bytes(b"root's own")
    source.path.rename(tmp_path / "moved.img")
    source.path.symlink_to(tmp_path / "secret")
    made = await copy("root", mode, opened, pool, NAME, tmp_path, lambda *_: None)
    assert await probe("root", opened, tmp_path) == len(content)
    with image(made, tmp_path) as whole:
        await run(["qemu-img", "convert", "-O", "raw", whole.name, str(tmp_path / "out")])
    assert (tmp_path / "out").read_bytes() == content
