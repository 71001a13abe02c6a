"""Everything that `ingot doctor` looks at, in the order in which it is shown."""

from collections.abc import Mapping
from pathlib import Path

from ingot.node.accelerator import choose
from ingot.node.doctor import programs, storage, system
from ingot.node.doctor.check import Check, Verdict, fail
from ingot.node.doctor.trial import guest


async def examine(directory: Path | None, places: Mapping[str, Path]) -> list[Check]:
    """All checks, for the agent of a directory (None: there is none yet) with these places, by what they are for."""
    chosen = await choose(directory)
    found = [
        programs.python(),
        await programs.emulator(),
        await programs.protocols(),
        await programs.libvirtd(),
        programs.binding(),
        system.qemu_user(),
        system.kvm_device(),
        system.acceleration(chosen),
        await programs.nbdkit(),
        programs.firmware(),
        programs.images(),
        programs.containers(),
        programs.reaper(),
        system.loop_devices(),
        await system.user_namespaces(),
        system.open_files(),
        system.mounts(),
    ]
    found += storage.checks(places)
    if can_boot(found):
        found.append(await guest(chosen))
    else:
        found.append(fail("guest", "not tried: see what fails above"))
    return found


def can_boot(checks: list[Check]) -> bool:
    """Whether guests can be booted, as far as these tell."""
    return all(check.verdict is not Verdict.FAIL for check in checks)
