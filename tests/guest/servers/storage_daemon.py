"""qemu-storage-daemon: several images, each as an NBD export of its own name."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports


class StorageDaemon(LoopbackServer):
    """Serves raw images for reading and writing, by name."""

    programs = ("qemu-storage-daemon",)
    packages = ("qemu-system-common",)

    def __init__(self, images: Mapping[str, Path]) -> None:
        super().__init__()
        self.images = dict(images)
        (self.port,) = free_ports(1)

    def uri(self, export: str) -> str:
        return f"nbd://{HOST}:{self.port}/{export}"

    def _start(self, stack: ExitStack) -> None:
        address = f"addr.type=inet,addr.host={HOST},addr.port={self.port},max-connections=0"
        command = ["qemu-storage-daemon", "--nbd-server", address]
        for number, (name, image) in enumerate(self.images.items()):
            node = f"image{number}"
            command += ["--blockdev", f"driver=file,node-name={node},filename={image}"]
            command += ["--export", f"type=nbd,id={node},node-name={node},name={name},writable=on"]
        self.process = self.run(stack, command)
        wait_until(lambda: listens(self.port), self.process)
