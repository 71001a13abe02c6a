"""Disks in images of other makers, through a real QEMU."""

import contextlib
import os
import resource
import signal
import socket
import struct
import subprocess
import threading
from pathlib import Path

import pytest
from qcow2_images import noise

from ingot.host.confinement import confinement_available
from ingot.images import foreign
from ingot.images.content import FileContent, PartContent, read
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.foreign import ForeignDisk

MIB = 1 << 20
FORMATS = [
    ("vmdk", ""),
    ("vmdk", "subformat=streamOptimized"),
    ("vdi", ""),
    ("vhdx", "block_size=1M"),
    ("vhd", "force_size=on"),
]


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = noise(tmp_path / "disk.raw", MIB)
    os.truncate(path, 4 * MIB)
    return path


def convert(raw: Path, format: str, options: str = "") -> Path:
    path, driver = raw.with_suffix("." + format), "vpc" if format == "vhd" else format
    extra = ("-o", options) if options else ()
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", driver, *extra, raw, path], check=True)
    return path


def patched(path: Path, offset: int, data: bytes) -> Path:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)
    return path


def refused(path: Path, format: str | None = None) -> ImageFault:
    with pytest.raises(ImageFault) as caught:
        open_disk(path, format)
    assert caught.value.subject == str(path)
    return caught.value


@pytest.mark.parametrize(("format", "options"), FORMATS)
def test_what_qemu_decodes(raw: Path, format: str, options: str) -> None:
    disk = open_disk(convert(raw, format, options))
    assert disk.size == 4 * MIB
    assert read(disk, 0, disk.size) == raw.read_bytes()
    extents = list(disk.extents(0, disk.size))
    assert extents[-1].end == disk.size
    # QEMU's vhdx does not tell what is in use.
    assert format == "vhdx" or sum(extent.length for extent in extents if extent.data) <= 2 * MIB
    disk.close()


def test_it_ends_with_its_disk(raw: Path) -> None:
    disk = open_disk(convert(raw, "vmdk"))
    assert isinstance(disk, ForeignDisk)
    process, directory = disk._process, disk._directory
    disk.close()
    assert process.poll() is not None
    assert not directory.exists()


def test_a_vhd_of_fixed_size_has_to_be_named(raw: Path) -> None:
    path = convert(raw, "vhd", "subformat=fixed,force_size=on")
    disk = open_disk(path, "vhd")
    assert read(disk, 0, MIB) == raw.read_bytes()[:MIB]
    disk.close()


def test_content_that_is_no_file(raw: Path) -> None:
    path = convert(raw, "vmdk")
    with FileContent(path) as file, pytest.raises(ImageFault, match="from a local file only"):
        open_disk(PartContent(file, 0, path.stat().st_size))


def test_a_disk_that_is_too_large(raw: Path) -> None:
    with pytest.raises(ImageFault, match="at most 4096 fit"):
        open_disk(convert(raw, "vdi"), limit=4096)


@pytest.mark.parametrize("kind", ["monolithicFlat", "twoGbMaxExtentSparse"])
def test_a_vmdk_of_several_files(raw: Path, kind: str) -> None:
    assert refused(convert(raw, "vmdk", f"subformat={kind}")).reason == "LeadsElsewhere"


def test_a_vmdk_whose_descriptor_names_another_file(raw: Path) -> None:
    path = convert(raw, "vmdk")
    data = path.read_bytes()
    line = data.index(b"RW ")
    patched(path, line, b'RW 8192 FLAT "/etc/passwd" 0\n')
    assert refused(path).reason == "LeadsElsewhere"


def test_a_vmdk_without_capacity_is_only_a_descriptor(raw: Path) -> None:
    assert refused(patched(convert(raw, "vmdk"), 12, bytes(8))).reason == "LeadsElsewhere"


def test_a_vmdk_with_a_parent(raw: Path) -> None:
    path = convert(raw, "vmdk")
    place = path.read_bytes().index(b"# Extent")
    patched(path, place, b'parentFileNameHint="/etc/passwd"\n#')
    assert "parent" in refused(path).message
    path = convert(raw, "vmdk")
    # Where QEMU looks for it, while the header says that the descriptor is elsewhere.
    patched(path, 28, struct.pack("<Q", 100))
    patched(path, 100 * 512, path.read_bytes()[512 : 21 * 512])
    patched(path, 512, b'parentFileNameHint="/etc/passwd"\n')
    assert "parent" in refused(path).message


def changed_after_its_check(path: Path, extent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes the image one that leads QEMU elsewhere, between the check and QEMU."""
    lines = ("# Disk DescriptorFile", "version=1", "CID=1", "parentCID=ffffffff", 'createType="monolithicFlat"')
    check = foreign.check_foreign

    def change(content: FileContent, format: str, subject: str) -> None:
        check(content, format, subject)
        path.write_text("\n".join((*lines, f'RW 8192 FLAT "{extent}" 0', "")))

    monkeypatch.setattr(foreign, "check_foreign", change)


@pytest.mark.skipif(not confinement_available(), reason="this kernel has no Landlock")
def test_a_vmdk_that_is_changed_after_its_check_leads_to_no_other_file(
    raw: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = convert(raw, "vmdk")
    changed_after_its_check(path, str(raw), monkeypatch)
    assert "Permission denied" in refused(path, "vmdk").message


def test_a_vmdk_that_is_changed_after_its_check_leads_to_no_server(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, address = convert(raw, "vmdk"), raw.with_name("server")
    changed_after_its_check(path, f"nbd:unix:{address}", monkeypatch)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        server.settimeout(0)
        refused(path, "vmdk")
        with pytest.raises(BlockingIOError):
            server.accept()


def test_without_landlock_only_files_that_nobody_else_may_write(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "confinement_available", lambda: False)
    path = convert(raw, "vmdk")
    for mode in (0o664, 0o646):
        path.chmod(mode)
        assert refused(path).reason == "OthersMayWrite"
    path.chmod(0o644)
    with contextlib.closing(open_disk(path)) as disk:
        assert read(disk, 0, disk.size) == raw.read_bytes()
    if os.geteuid() == 0:
        os.chown(path, 65534, 65534)
        assert refused(path).reason == "OthersMayWrite"


def test_a_vdi_with_a_parent(raw: Path) -> None:
    path = convert(raw, "vdi")
    assert "parent" in refused(patched(path, 0x1B8, b"\1")).message
    assert "parent" in refused(patched(convert(raw, "vdi"), 0x4C, b"\4")).message


def test_a_vhdx_with_a_parent(raw: Path) -> None:
    path = convert(raw, "vhdx")
    data = path.read_bytes()
    parameters = bytes.fromhex("3767a1ca36fa434db3b633f0aa44e76b")
    entry = data.index(parameters)
    table = data.index(b"metadata")
    (offset,) = struct.unpack_from("<I", data, entry + 16)
    assert "parent" in refused(patched(path, table + offset + 4, b"\2")).message


def test_a_vhd_with_a_parent(raw: Path) -> None:
    assert "parent" in refused(patched(convert(raw, "vhd"), 63, b"\4")).message


@pytest.mark.parametrize("format", ["vmdk", "vdi", "vhdx", "vhd"])
def test_garbage(tmp_path: Path, raw: Path, format: str) -> None:
    assert refused(raw, format).reason in ("BadImage", "LeadsElsewhere")
    short = tmp_path / "short"
    for length in (0, 5, 600):
        short.write_bytes(convert(raw, format).read_bytes()[:length])
        refused(short, format)


@pytest.mark.parametrize("format", ["vdi", "vhdx", "vhd"])
def test_garbage_behind_a_good_beginning(raw: Path, format: str) -> None:
    path = convert(raw, format)
    path.write_bytes(path.read_bytes()[:1024] + b"\xff" * 300_000)
    with pytest.raises(ImageFault), contextlib.closing(open_disk(path, format)) as disk:
        read(disk, 0, 4 * MIB)


def test_qemu_dies(raw: Path) -> None:
    disk = ForeignDisk(FileContent(convert(raw, "vmdk")), "vmdk", "disk", 8 * MIB)
    os.kill(disk._process.pid, signal.SIGKILL)
    disk._keeper.join()
    with pytest.raises(ImageFault, match="QEMU cannot read it: it ended with -9"):
        disk.readinto(0, memoryview(bytearray(512)))
    disk.close()


def test_qemu_hangs(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_WATCH_SECONDS", 0.05)
    disk = ForeignDisk(FileContent(convert(raw, "vmdk")), "vmdk", "disk", 8 * MIB)
    monkeypatch.setattr(foreign, "_READ_SECONDS", 0.1)
    os.kill(disk._process.pid, signal.SIGSTOP)
    with pytest.raises(ImageFault, match="QEMU cannot read it: it ended with -9"):
        disk.readinto(0, memoryview(bytearray(512)))
    disk.close()


def test_qemu_has_bounds_of_memory_and_cpu(raw: Path) -> None:
    disk = ForeignDisk(FileContent(convert(raw, "vmdk")), "vmdk", "disk", 8 * MIB)
    assert resource.prlimit(disk._process.pid, resource.RLIMIT_AS) == (foreign._MEMORY, foreign._MEMORY)
    cpu, _ = resource.prlimit(disk._process.pid, resource.RLIMIT_CPU)
    assert cpu == foreign._CPU + disk.size // foreign._BYTES_PER_CPU
    disk.close()


def test_a_program_that_never_serves(raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "_START_SECONDS", 0.1)
    # What the shell is in.
    monkeypatch.setattr(foreign, "_LIBRARIES", (*foreign._LIBRARIES, Path("/bin")))
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    before = threading.active_count()
    file = FileContent(convert(raw, "vmdk"))
    with pytest.raises(ImageFault, match=r"did not open it in 0\.1 s"):
        ForeignDisk(file, "vmdk", "disk", 8 * MIB, program=str(program))
    with pytest.raises(ImageFault, match="cannot be run"):
        ForeignDisk(file, "vmdk", "disk", 8 * MIB, program=str(tmp_path / "absent"))
    file.close()
    assert threading.active_count() == before
