"""Why a domain ended, from the log that libvirtd keeps of it."""

from pathlib import Path

from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import GivenLibvirt

FIRST, SECOND = "6a3f1a5e-0a2b-4d2c-8a47-9d7c1f8a0001", "6a3f1a5e-0a2b-4d2c-8a47-9d7c1f8a0002"


def start(uuid: str) -> str:
    return f"2026-11-16 11:19:31.428+0000: starting up libvirt version: 9.0.0\nqemu \\\n-uuid {uuid} \\\n-S\n"


def end(reason: str) -> str:
    return f"2026-11-16 11:19:41.278+0000: shutting down, reason={reason}\n"


async def reason(directory: Path, text: str, uuid: str) -> str | None:
    (directory / "vm.log").write_text(text)
    return await Hypervisor(GivenLibvirt("test:///default", directory)).last_reason("vm", uuid)


async def test_the_reason_of_the_last_start(tmp_path: Path) -> None:
    log = start(FIRST) + end("crashed") + start(FIRST) + "said something\n" + end("shutdown")
    assert await reason(tmp_path, log, FIRST) == "shutdown"


async def test_another_domain_of_the_same_name_has_no_reason_here(tmp_path: Path) -> None:
    assert await reason(tmp_path, start(FIRST) + end("crashed"), SECOND) is None
    assert await reason(tmp_path, start(FIRST) + end("crashed") + start(SECOND), SECOND) is None


async def test_a_long_log_is_read_from_its_end(tmp_path: Path) -> None:
    noise = "warning: something that QEMU says again and again\n" * 10000
    assert await reason(tmp_path, start(FIRST) + noise + end("destroyed"), FIRST) == "destroyed"


async def test_no_log_no_reason(tmp_path: Path) -> None:
    assert await Hypervisor(GivenLibvirt("test:///default", tmp_path)).last_reason("vm", FIRST) is None
    assert await Hypervisor(GivenLibvirt("test:///default")).last_reason("vm", FIRST) is None
