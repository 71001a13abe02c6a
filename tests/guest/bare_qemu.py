"""A guest run by plain QEMU, without Ingot: what the servers and the guest image are checked with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from guest.console import Console
from guest.servers.server import listens_at, wait_until
from kube.process import Process


@asynccontextmanager
async def running(
    image: Path, directory: Path, arguments: Sequence[str], device: str = "virtio-blk-pci"
) -> AsyncIterator[Console]:
    """A guest that has booted from the image on this device, beside QEMU's other arguments; its console, ready."""
    socket = directory / "console"
    command = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-m", "160", "-nodefaults", "-no-user-config"]
    command += ["-display", "none", "-chardev", f"socket,id=console,path={socket},server=on,wait=off"]
    command += ["-serial", "chardev:console", "-qmp", f"unix:{directory}/qmp,server=on,wait=off"]
    boot = ["-drive", f"if=none,id=boot,format=raw,readonly=on,file={image}"]
    boot += ["-device", f"{device},drive=boot,bootindex=1"]
    with ExitStack() as stack:
        process = stack.enter_context(Process("qemu", [*command, *arguments, *boot], directory / "qemu.log"))
        wait_until(lambda: listens_at(socket), process)
        async with await Console.connect(socket) as console:
            await console.ready()
            yield console
