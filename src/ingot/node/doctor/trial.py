"""The best evidence: a libvirtd and a guest are started and ended, in a directory that is removed again."""

import shutil
import tempfile
import time
from pathlib import Path

from ingot.node.accelerator import Accelerator
from ingot.node.doctor.check import Check, fail, ok
from ingot.node.hypervisor import Hypervisor
from ingot.node.libvirtd import Libvirtd
from ingot.node.link import HypervisorError

_NAME = "ingot-doctor"
_DOMAIN = """\
<domain type='{kind}'><name>{name}</name><memory unit='MiB'>32</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><cpu mode='{cpu}'/><devices/></domain>
"""


async def guest(accelerator: Accelerator) -> Check:
    """Whether a guest runs, under the accelerator that the agent would use."""
    place = Path(tempfile.mkdtemp(prefix="ingot-doctor-"))
    libvirtd = Libvirtd(place, kvm=accelerator.name == "kvm")
    begin = time.monotonic()
    try:
        async with Hypervisor(libvirtd) as hypervisor:
            kind = "kvm" if accelerator.name == "kvm" else "qemu"
            await hypervisor.start(_DOMAIN.format(kind=kind, name=_NAME, cpu=accelerator.cpu_model))
            took = time.monotonic() - begin
            await hypervisor.destroy(_NAME)
    except HypervisorError as error:
        return fail("guest", f"a small guest could not be started: {error}", "mend what is said there, and try again")
    finally:
        await libvirtd.end()
        shutil.rmtree(place, ignore_errors=True)
    return ok("guest", f"a small one was started in {took:.1f} s, with a libvirtd of its own")
