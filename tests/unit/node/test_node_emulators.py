"""QEMU processes, found and ended without libvirt."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.host.process import Process
from ingot.node.emulators import emulators, end_emulator

UID = "0b8c1f9e-test-emulators"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """Something with the arguments of a guest's QEMU."""
    marked = ["-smbios", f"type=11,value=ingot-instance:{UID}"]
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *marked]) as started:
        while not Path(f"/proc/{started.pid}/cmdline").read_bytes():
            assert started.poll() is None
        yield started
        started.kill()


def test_a_guest_is_found_by_its_instance(process: subprocess.Popen[bytes]) -> None:
    assert emulators()[UID] == Process.of(process.pid)


def test_a_guest_is_ended_and_no_other(process: subprocess.Popen[bytes]) -> None:
    assert end_emulator("another") is None
    assert process.poll() is None
    assert end_emulator(UID) is not None
    assert process.wait(10) == -9
    assert UID not in emulators()
