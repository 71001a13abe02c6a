"""In which order a boot reads a disk, foretold from the files on it (X3)."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from images.linux_disks import SIZE, START, clusters_of, make_filesystem, make_tree, noise, put_gpt, put_mbr
from ingot.images.boot.elf import needs
from ingot.images.boot.ext import Ext
from ingot.images.boot.noted import NotedDisk
from ingot.images.boot.order import boot_order
from ingot.images.content import FileContent
from ingot.images.qcow2.layout import CLUSTER

OLD, NEW = "6.1.0-9-amd64", "6.1.0-10-amd64"
KERNELS = {
    f"boot/{name}-{version}": noise(name + version) for name in ("vmlinuz", "initrd.img") for version in (OLD, NEW)
}
KERNEL, INITRD = KERNELS[f"boot/vmlinuz-{NEW}"], KERNELS[f"boot/initrd.img-{NEW}"]


def order_of(disk: Path) -> list[int]:
    with FileContent(disk) as content:
        return boot_order(content)


def check_order(disk: Path, *files: bytes) -> None:
    """The files are read as a whole, one after the other."""
    order = order_of(disk)
    last = -1
    for data in files:
        clusters = clusters_of(disk, data)
        places = [order.index(cluster) for cluster in clusters if cluster in order]
        assert len(places) == len(clusters)
        # The first cluster may have been read for what is beside the file.
        assert places[-1] > last
        last = places[-1]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    return tmp_path / "disk.raw"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.mark.parametrize(
    "options",
    [
        ("-t", "ext4"),
        ("-t", "ext3"),
        ("-t", "ext2", "-b", "1024"),
        ("-t", "ext4", "-b", "1024", "-O", "64bit"),
        ("-t", "ext4", "-O", "^extents,^64bit"),
        ("-t", "ext4", "-I", "128", "-r", "1"),
    ],
    ids=" ".join,
)
def test_the_newest_kernel_and_its_initrd_come_first(disk: Path, root: Path, options: tuple[str, ...]) -> None:
    make_filesystem(disk, make_tree(root, KERNELS), *options, start=START)
    put_mbr(disk)
    check_order(disk, KERNEL, INITRD)
    order = order_of(disk)
    assert not set(clusters_of(disk, KERNELS[f"boot/vmlinuz-{OLD}"])[1:-1]) & set(order)
    assert order[0] == 0
    assert len(order) == len(set(order))


def test_the_table_of_partitions_may_be_a_gpt(disk: Path, root: Path) -> None:
    make_filesystem(disk, make_tree(root, KERNELS), start=START)
    put_gpt(disk)
    check_order(disk, KERNEL, INITRD)


def test_a_filesystem_of_their_own_has_them_at_its_top(disk: Path, root: Path) -> None:
    files = {name.removeprefix("boot/").replace("initrd.img-", "initramfs-"): data for name, data in KERNELS.items()}
    named = {f"{name}.img" if name.startswith("initramfs") else name: data for name, data in files.items()}
    rescue = {"vmlinuz-0-rescue-a": noise("rescue"), "grub2/grub.cfg": noise("menu")}
    make_filesystem(disk, make_tree(root, named | rescue))
    check_order(disk, rescue["grub2/grub.cfg"], KERNEL, INITRD)
    assert not set(clusters_of(disk, rescue["vmlinuz-0-rescue-a"])[1:-1]) & set(order_of(disk))


def test_what_systemd_starts_follows_with_its_libraries(disk: Path, root: Path) -> None:
    """Real programs, and units as systemd has them; some sh is always started."""
    start, stop = noise("start"), noise("stop")
    units = {
        "multi-user.target": b"[Unit]\nRequires=basic.target\nWants=\nsocket.socket\n",
        "serve@.service": b"[Service]\nExecStart=-@/opt/start --now\nExecStop=/opt/stop\n",
    }
    files = KERNELS | {f"usr/lib/systemd/system/{name}": text for name, text in units.items()}
    files |= {"opt/start": start, "opt/stop": stop, "usr/lib/systemd/systemd": noise("systemd")}
    links = {
        "sbin/init": "../usr/lib/systemd/systemd",
        "etc/systemd/system/default.target": "/usr/lib/systemd/system/multi-user.target",
        "etc/systemd/system/default.target.wants/serve@a.service": "/usr/lib/systemd/system/serve@.service",
    }
    make_tree(root, files, links)
    shutil.copy("/usr/bin/qemu-img", root / "opt/qemu-img")
    make_filesystem(disk, root)
    check_order(disk, KERNEL, INITRD, files["usr/lib/systemd/systemd"], start)
    assert not set(clusters_of(disk, stop)[1:-1]) & set(order_of(disk))


def test_programs_come_with_what_they_need(disk: Path, root: Path) -> None:
    """The program, its interpreter, and libraries where it says they are and where they usually are."""
    near, far, interpreter = noise("near"), noise("far"), noise("interpreter")
    files = {
        "sbin/init": program("/lib64/ld.so", ["libnear.so", "libfar.so"], "$ORIGIN/own"),
        "sbin/own/libnear.so": near,
        "usr/lib/libnear.so": noise("another"),
        "usr/lib/libfar.so": far,
        "lib64/ld.so": interpreter,
    }
    make_filesystem(disk, make_tree(root, files))
    check_order(disk, interpreter, near, far)
    assert not set(clusters_of(disk, files["usr/lib/libnear.so"])[1:-1]) & set(order_of(disk))


def test_programs_that_are_named_without_a_place_are_found(disk: Path, root: Path) -> None:
    started = noise("started")
    units = {"default.target": b"[Unit]\nWants=a.service\n", "a.service": b"[Service]\nExecStart=-start --now\n"}
    files = {f"usr/lib/systemd/system/{name}": text for name, text in units.items()}
    make_filesystem(disk, make_tree(root, files | {"sbin/init": b"#!/bin/sh\n", "usr/bin/start": started}))
    check_order(disk, started)


def test_modules_of_the_kernel_come_with_those_that_they_need(disk: Path, root: Path) -> None:
    """By the table that depmod makes; of the kernel that is booted, and only what a virtual machine wants."""
    table = b"kernel/fs/fuse/fuse.ko.xz: kernel/lib/base.ko\nkernel/lib/base.ko:\nkernel/sound/loud.ko:\nrubbish\n"
    modules = {name: noise(name) for name in ("fs/fuse/fuse.ko.xz", "lib/base.ko", "sound/loud.ko")}
    files = KERNELS | {f"lib/modules/{NEW}/kernel/{name}": data for name, data in modules.items()}
    files |= {f"lib/modules/{NEW}/modules.dep": table, "sbin/init": b"#!/bin/sh\n"}
    make_filesystem(disk, make_tree(root, files))
    check_order(disk, KERNEL, INITRD)
    wanted = [cluster for name in ("lib/base.ko", "fs/fuse/fuse.ko.xz") for cluster in clusters_of(disk, modules[name])]
    assert set(wanted) <= set(order_of(disk))
    assert not set(clusters_of(disk, modules["sound/loud.ko"])[1:-1]) & set(order_of(disk))


@pytest.mark.parametrize("options", [("-t", "ext4"), ("-t", "ext3", "-b", "1024"), ("-t", "ext2")], ids=" ".join)
def test_what_a_mount_reads_is_foretold(disk: Path, root: Path, options: tuple[str, ...]) -> None:
    """The tables of the groups as far as they are used, and the head of the journal: as dumpe2fs tells it."""
    files = {f"usr/share/{number}": b"x" for number in range(3000)}
    make_filesystem(disk, make_tree(root, files | {"sbin/init": b"#!/bin/sh\n"}), *options, "-N", "4096")
    told = subprocess.run(["dumpe2fs", str(disk)], check=True, capture_output=True, text=True).stdout
    block = int(re.search(r"Block size:\s+(\d+)", told)[1])  # type: ignore[index]
    first_table = int(re.search(r"Inode table at (\d+)-", told)[1])  # type: ignore[index]
    used = first_table * block + 3000 * 256 // len(re.findall("^Group", told, re.MULTILINE))
    assert set(range(used // CLUSTER + 1)) <= set(order_of(disk))
    if "has_journal" in told:
        head = disk.read_bytes().index(b"\xc0\x3b\x39\x98\0\0\0\x04")
        assert head // CLUSTER in order_of(disk)


def program(interpreter: str, libraries: list[str], path: str) -> bytes:
    """The head of a program of 64 bits, with what it needs."""
    texts = b"\0" + b"\0".join(text.encode() for text in (*libraries, path)) + b"\0"
    at = {text: texts.find(text.encode() + b"\0") for text in (*libraries, path)}
    address, text_at, dynamic_at, name_at = 0x400000, 0x400, 0x800, 0xC00
    entries = [(1, at[library]) for library in libraries] + [(29, at[path]), (5, address + text_at), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in entries)
    name = interpreter.encode() + b"\0"

    def header(kind: int, offset: int, size: int) -> bytes:
        return struct.pack("<IIQQQQQQ", kind, 4, offset, address + offset, 0, size, size, 8)

    headers = header(1, 0, 0x1000) + header(2, dynamic_at, len(dynamic)) + header(3, name_at, len(name))
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = identity + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)
    return (head + headers).ljust(text_at, b"\0") + b"".join(
        [texts.ljust(dynamic_at - text_at, b"\0"), dynamic.ljust(name_at - dynamic_at, b"\0"), name]
    )


def test_what_is_large_or_strange_costs_itself_only(disk: Path, root: Path) -> None:
    """An initrd and a program of more than anybody reads for their needs, sparse, and a kernel with a strange name."""
    login = noise("login")
    make_tree(root, KERNELS | {"sbin/init": b"#!/bin/sh\n", "bin/login": login, "boot/vmlinuz-6.1\u00b2": b"odd"})
    for name in ("boot/initrd.img-7", "bin/sh"):
        (root / name).touch()
        os.truncate(root / name, 200 << 20)
    newest = noise("newest")
    (root / "boot/vmlinuz-7").write_bytes(newest)
    make_filesystem(disk, root)
    assert {*clusters_of(disk, newest), *clusters_of(disk, login)} <= set(order_of(disk))


def test_what_is_larger_than_any_boot_costs_itself_only(
    disk: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingot.images.boot.noted._MOST_BYTES", 8 << 20)
    login = noise("login")
    make_tree(root, {"boot/vmlinuz-6": KERNEL, "sbin/init": b"#!/bin/sh\n", "bin/login": login})
    (root / "boot/initrd.img-6").write_bytes(noise("initrd", 9 << 20))
    make_filesystem(disk, root)
    assert {*clusters_of(disk, KERNEL), *clusters_of(disk, login)} <= set(order_of(disk))


def test_partitions_within_an_extended_one_are_found(disk: Path, root: Path) -> None:
    make_filesystem(disk, make_tree(root, KERNELS), start=START)
    put_mbr(disk, 0x0F, START // 4)
    tables = ((START // 4, START // 4, START // 2 - START // 4), (START // 2, START // 2, 0))
    for place, first, onward in tables:
        here, next_one = (0, 0x83, first >> 9, 8), (0, 0x05 if onward else 0, onward >> 9, 8)
        entries = b"".join(struct.pack("<B3xB3xII", *entry) for entry in (here, next_one))
        with disk.open("r+b") as file:
            file.seek(place + 446)
            file.write(entries.ljust(64, b"\0") + b"\x55\xaa")
    check_order(disk, KERNEL, INITRD)


def test_a_chain_of_partitions_that_never_ends_is_left(disk: Path) -> None:
    disk.write_bytes(bytes(SIZE))
    put_mbr(disk, 0x05)
    entries = struct.pack("<B3xB3xIIB3xB3xII", 0, 0x83, 8, 8, 0, 0x05, 0, 8)
    with disk.open("r+b") as file:
        file.seek(START + 446)
        file.write(entries.ljust(64, b"\0") + b"\x55\xaa")
    assert order_of(disk) == []


@pytest.mark.parametrize("options", [("-t", "ext2", "-b", "1024"), ("-t", "ext4", "-b", "1024")], ids=" ".join)
def test_sparse_files_are_read_as_they_are(disk: Path, root: Path, options: tuple[str, ...]) -> None:
    """One block in each kind of tree, and nothing between."""
    make_tree(root, {"etc/passwd": b""})
    whole = bytearray(70 << 20)
    for place in (3 << 10, 17 << 10, 300 << 10, 68 << 20):
        whole[place : place + 1024] = noise(str(place), 1024)
    with (root / "sparse").open("wb") as file:
        for place in (3 << 10, 17 << 10, 300 << 10, 68 << 20):
            os.pwrite(file.fileno(), whole[place : place + 1024], place)
        file.truncate(len(whole))
    make_filesystem(disk, root, *options)
    with FileContent(disk) as content:
        files = Ext(NotedDisk(content), 0)
        node = files.find("/sparse")
        assert node is not None
        assert files.read(node) == whole


def test_a_program_names_no_more_than_programs_do() -> None:
    """Each place is looked at for each library, and what is written there is anybody's."""
    places = ":".join(["$ORIGIN/own", *(f"/p/{number}" for number in range(50))])
    wanted = needs(program("/lib/" + "./" * 400 + "ld.so", [f"lib{number}.so" for number in range(40)], places), "/a")
    assert wanted.paths[:2] == ("/a/own", "/p/0")
    assert len(wanted.paths) <= 16
    assert len(wanted.interpreter) <= 255
    assert len(wanted.libraries) == 40
    assert needs(program("/lib/ld.so", ["lib" + "x" * 300], "/" + "y" * 300), "/a").libraries == ("",)


def test_a_directory_whose_names_overlap_is_none(disk: Path, root: Path) -> None:
    """Eight bytes would make a name of 255 characters again and again."""
    make_filesystem(disk, make_tree(root, {"boot/vmlinuz-6": noise("kernel"), "sbin/init": b"#!/bin/sh\n"}))
    raw = disk.read_bytes()
    at = raw.index(struct.pack("<HBB", 12, 4, 2) + b"boot") - 4
    with disk.open("r+b") as file:
        os.pwrite(file.fileno(), struct.pack("<HB", 8, 255), at + 4)
    assert order_of(disk) == []


@pytest.mark.parametrize(
    "files",
    [{}, {"home/someone/photos": noise("photos")}, {"boot/config-6.1": b"y"}],
    ids=["empty", "data", "no kernel"],
)
def test_nothing_is_foretold_of_what_boots_nothing(disk: Path, root: Path, files: Mapping[str, bytes]) -> None:
    root.mkdir()
    make_filesystem(disk, make_tree(root, files))
    assert order_of(disk) == []


def test_nothing_is_foretold_of_what_is_no_filesystem(disk: Path) -> None:
    for data in (b"", b"x", bytes(512), noise("any", SIZE), bytes(SIZE)):
        disk.write_bytes(data)
        assert order_of(disk) == []
    disk.write_bytes(bytes(SIZE))
    for table in (put_mbr, put_gpt):
        table(disk)
        assert order_of(disk) == []
