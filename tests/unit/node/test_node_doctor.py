"""What `ingot doctor` looks at. That it finds a guest to run is shown in tests/guest."""

import json
import os
import platform
import pwd
from pathlib import Path

import pytest

from ingot.node.accelerator import Accelerator
from ingot.node.doctor import programs, storage, system
from ingot.node.doctor.check import Check, Verdict, install, ok
from ingot.node.doctor.examination import can_boot, examine


def named(checks: list[Check], name: str) -> Check:
    return next(check for check in checks if check.name == name)


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any of the programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def user(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: number)


async def test_a_bare_machine_boots_nothing_and_hears_what_to_install(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user(monkeypatch, 1000)
    checks = await examine(None, {"volumes": bare})
    assert not can_boot(checks)
    for name, package in {
        "qemu": "qemu-system-x86",
        "qemu protocols": "qemu-block-extra",
        "libvirtd": "libvirt-daemon",
        "nbdkit": "nbdkit",
        "xorriso": "xorriso",
        "containers": "podman",
        "tini": "tini",
    }.items():
        assert f"sudo apt-get install {package}" in named(checks, name).cure
    assert named(checks, "guest").found == "not tried: see what fails above"
    assert named(checks, "qemu").verdict is Verdict.FAIL
    assert named(checks, "xorriso").verdict is Verdict.WARN


def test_root_needs_no_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    user(monkeypatch, 0)
    assert install("tini") == "apt-get install tini"


async def test_protocols_that_are_missing_are_named(bare: Path) -> None:
    script = bare / "qemu-img"
    script.write_text('#!/bin/sh\ncase "$3" in rbd|gluster) exit 1;; esac\n')
    script.chmod(0o755)
    check = await programs.protocols()
    assert check.verdict is Verdict.WARN
    assert check.found == "QEMU cannot reach disks by rbd, gluster; it can by nbd, iscsi"


def test_firmware_is_found_by_its_description(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "FIRMWARE", (tmp_path / "none", tmp_path))
    (tmp_path / "50-old.json").write_text('{"interface-types": ["bios"], "targets": [{"architecture": "x86_64"}]}')
    (tmp_path / "55-broken.json").write_text("{")
    missing = programs.firmware()
    assert (missing.verdict, "ovmf" in missing.cure) == (Verdict.WARN, True)
    described = {"interface-types": ["uefi"], "targets": [{"architecture": platform.machine()}]}
    (tmp_path / "60-edk2.json").write_text(json.dumps(described))
    assert programs.firmware() == ok("uefi firmware", str(tmp_path / "60-edk2.json"))


def test_an_ordinary_user_hears_what_needs_root_and_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    user(monkeypatch, 1000)
    assert system.loop_devices().cure == "run ingot up as root"
    assert system.qemu_user().verdict is Verdict.OK
    assert system.mounts().verdict is Verdict.OK


def test_root_needs_the_user_of_qemu(monkeypatch: pytest.MonkeyPatch) -> None:
    user(monkeypatch, 0)
    monkeypatch.setattr(system, "QEMU_USER", "nobody-such")
    check = system.qemu_user()
    assert check.verdict is Verdict.FAIL
    assert check.cure == "adduser --system --group --no-create-home nobody-such"


def test_the_accelerator_is_told_with_its_evidence() -> None:
    assert system.acceleration(Accelerator("kvm", "seen")).verdict is Verdict.OK
    slow = system.acceleration(Accelerator("tcg", "there is no /dev/kvm"))
    assert slow.verdict is Verdict.WARN
    assert "there is no /dev/kvm" in slow.found


def test_a_device_that_may_not_be_opened_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path / "kvm"
    monkeypatch.setattr(system, "DEVICE", device)
    assert system.kvm_device().found == f"there is no {device}"
    device.touch()
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "chmod 660" in system.kvm_device().cure


def test_directories_on_one_filesystem_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user(monkeypatch, 1000)
    checks = storage.checks({"volumes": tmp_path / "a" / "b", "pools": tmp_path})
    assert [check.name for check in checks] == [
        "volumes, pools: space",
        "volumes, pools: reflink",
        "volumes, pools: O_DIRECT",
    ]
    assert not (tmp_path / "a").exists()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_to_is_a_failure() -> None:
    checks = storage.checks({"volumes": Path("/proc/ingot")})
    assert checks[0].verdict is Verdict.FAIL
    assert checks[0].found.startswith("nothing can be written to /proc")


def test_little_room_is_a_warning_and_none_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for least, verdict in {"SMALL": Verdict.WARN, "LITTLE": Verdict.FAIL}.items():
        monkeypatch.setattr(storage, least, 1 << 62)
        assert named(storage.checks({"volumes": tmp_path}), "volumes: space").verdict is verdict


def test_qemus_user_must_be_able_to_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user(monkeypatch, 0)
    monkeypatch.setattr(storage, "QEMU_USER", "nobody")
    closed = tmp_path / "closed"
    (closed / "below").mkdir(parents=True)
    closed.chmod(0o700)
    assert not storage._may_pass(closed, pwd.getpwnam("nobody").pw_uid, set())
    assert storage._may_pass(closed, closed.stat().st_uid, set())
    closed.chmod(0o711)
    assert storage._may_pass(closed, pwd.getpwnam("nobody").pw_uid, set())
    closed.chmod(0o701)
    assert not storage._may_pass(closed, pwd.getpwnam("nobody").pw_uid, {closed.stat().st_gid})
    closed.chmod(0o700)
    check = storage.checks({"volumes": closed / "below"})[-1]
    assert check.verdict is Verdict.FAIL
    assert "chmod o+x" in check.cure
