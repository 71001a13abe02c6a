"""How large the disk of a claim may be, and making it so."""

import os
from pathlib import Path
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.disks.expansion import device_size, expand, possible_size, wanted_size

MIB = 1 << 20
DISK: Object = {"name": "data", "disk": {}}
CLAIM: Object = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def instance(capacity: str) -> Object:
    info = {"persistentVolumeClaimInfo": {"claimName": "data", "capacity": {"storage": capacity}}}
    return {"status": {"volumeStatus": [{"name": "other"}, {"name": "data", **info}]}}


@pytest.mark.parametrize(("capacity", "size"), [("16Mi", 16 * MIB), ("1G", 953 * MIB), ("1000", 0)])
def test_a_disk_follows_its_claim_in_whole_mebibytes(capacity: str, size: int) -> None:
    assert wanted_size(instance(capacity), CLAIM, DISK) == size


@pytest.mark.parametrize(
    ("volume", "disk"),
    [
        ({"name": "data", "hostDisk": {"path": "/x"}}, DISK),
        ({"name": "data", "ephemeral": {"persistentVolumeClaim": {"claimName": "data"}}}, DISK),
        ({**CLAIM, "copy": {"mode": "clone"}}, DISK),
        ({**CLAIM, "copy": {"mode": "copy-on-write"}, "accessMode": "write-exclusive"}, DISK),
        ({**CLAIM, "accessMode": "read-shared"}, DISK),
        ({"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}, DISK),
        (CLAIM, {"name": "data", "cdrom": {}}),
        (CLAIM, {"name": "data", "disk": {"readonly": True}}),
    ],
)
def test_a_disk_that_is_not_the_claims_own_to_write_follows_nothing(volume: Object, disk: Object) -> None:
    assert wanted_size(instance("16Mi"), volume, disk) == 0


@pytest.mark.parametrize("status", [{}, {"volumeStatus": [{"name": "data"}]}])
def test_a_claim_of_which_nothing_is_known_yet_asks_for_nothing(status: Any) -> None:
    assert wanted_size({"status": status}, CLAIM, DISK) == 0


def test_a_file_grows_sparsely_and_keeps_what_it_has(tmp_path: Path) -> None:
    file = tmp_path / "disk.img"
    file.write_bytes(b"data" * 1024)
    assert expand(file, 64 * MIB) == 64 * MIB
    assert file.stat().st_size == 64 * MIB
    assert file.stat().st_blocks * 512 < MIB
    with file.open("rb") as opened:
        assert opened.read(4096) == b"data" * 1024


def test_no_file_shrinks(tmp_path: Path) -> None:
    file = tmp_path / "disk.img"
    file.write_bytes(bytes(3 * MIB + 1))
    assert expand(file, 2 * MIB) == 3 * MIB + 1
    assert file.stat().st_size == 3 * MIB + 1


def test_a_file_stays_as_it_is_where_its_filesystem_has_no_room(tmp_path: Path) -> None:
    file = tmp_path / "disk.img"
    file.write_bytes(bytes(MIB))
    room = os.statvfs(tmp_path)
    more = room.f_blocks * room.f_frsize * 2
    assert possible_size(file, more) < more
    assert expand(file, more) == MIB
    assert file.stat().st_size == MIB


def test_a_device_is_as_large_as_its_end_is_far(tmp_path: Path) -> None:
    # A file answers as a device does, and needs no root.
    file = tmp_path / "device"
    file.write_bytes(bytes(8192))
    assert device_size(file) == 8192
