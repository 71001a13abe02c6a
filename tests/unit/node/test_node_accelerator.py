"""The accelerator by evidence: the probe guest itself runs emulated here; what KVM would do is played by a script."""

import subprocess
from pathlib import Path

import pytest

from ingot.node import accelerator
from ingot.node.accelerator import AcceleratorError, choose, probe_command
from ingot.node.boot_sector import REACHED, boot_sector


@pytest.fixture
def kvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine that promises KVM; the emulator is a script that counts its calls in `calls` and ends as told."""
    device = tmp_path / "kvm"
    device.touch()
    monkeypatch.setattr(accelerator, "DEVICE", device)
    monkeypatch.setattr(accelerator, "_lack_of_hardware", lambda: "")
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def emulator(home: Path, text: str) -> None:
    script = home / "bin" / accelerator.EMULATOR
    script.write_text(f"#!/bin/sh\necho called >>{home}/calls\n{text}\n")
    script.chmod(0o755)


def test_the_probe_guest_runs_from_real_mode_to_64_bits(tmp_path: Path) -> None:
    sector = tmp_path / "sector"
    sector.write_bytes(boot_sector())
    assert subprocess.run(probe_command(str(sector), "tcg"), timeout=30).returncode == REACHED


async def test_a_probe_guest_that_ran_is_evidence_and_is_remembered(kvm: Path) -> None:
    emulator(kvm, f"exit {REACHED}")
    for _ in range(2):
        found = await choose(kvm / "node")
        assert (found.name, found.cpu_model) == ("kvm", "host-passthrough")
    assert (kvm / "calls").read_text() == "called\n"


async def test_another_emulator_is_probed_again(kvm: Path) -> None:
    emulator(kvm, f"exit {REACHED}")
    assert (await choose(kvm / "node")).name == "kvm"
    emulator(kvm, "echo it is broken >&2; exit 1")
    found = await choose(kvm / "node")
    assert (found.name, found.cpu_model) == ("tcg", "maximum")
    assert "it is broken" in found.evidence


async def test_a_probe_guest_that_hangs_is_evidence_against(kvm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accelerator, "PROBE_SECONDS", 0.1)
    emulator(kvm, "exec sleep 60")
    found = await choose(kvm / "node")
    assert found.name == "tcg"
    assert "hung" in found.evidence


async def test_a_damaged_record_is_probed_again(kvm: Path) -> None:
    emulator(kvm, f"exit {REACHED}")
    (kvm / "node").mkdir()
    (kvm / "node" / "accelerator.json").write_text("{")
    assert (await choose(kvm / "node")).name == "kvm"


async def test_without_a_device_guests_are_emulated(kvm: Path) -> None:
    (kvm / "kvm").unlink()
    assert "there is no" in (await choose(None)).evidence


async def test_what_is_asked_for_by_name_is_used_or_refused_with_the_evidence(kvm: Path) -> None:
    emulator(kvm, f"exit {REACHED}")
    assert (await choose(None, "tcg")).name == "tcg"
    assert (await choose(None, "kvm")).name == "kvm"
    (kvm / "kvm").unlink()
    with pytest.raises(AcceleratorError, match=r"there is no .*kvm; use tcg"):
        await choose(None, "kvm")
    with pytest.raises(AcceleratorError, match="one of kvm, tcg"):
        await choose(None, "xen")
