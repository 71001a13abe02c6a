"""qemu-nbd: one image, raw or qcow2, as one NBD export; open, or with TLS and client certificates."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from guest.servers.certificates import Certificates
from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports


class QemuNbd(LoopbackServer):
    """Serves `image` in its format: what clients see of a qcow2 is the disk in it, or with `raw` the file's bytes."""

    programs = ("qemu-nbd",)
    packages = ("qemu-utils",)

    def __init__(
        self, image: Path, export: str = "", format: str = "raw", certificates: Certificates | None = None
    ) -> None:
        super().__init__()
        self.image, self.export, self.format, self.certificates = image, export, format, certificates
        (self.port,) = free_ports(1)

    @property
    def uri(self) -> str:
        return f"{'nbds' if self.certificates else 'nbd'}://{HOST}:{self.port}/{self.export}"

    def _start(self, stack: ExitStack) -> None:
        command = ["qemu-nbd", "--persistent", "--shared=0", "--bind", HOST, "--port", str(self.port)]
        command += ["--export-name", self.export, "--format", self.format]
        if self.certificates:
            self.certificates.write_server(self.directory)
            credentials = f"tls-creds-x509,id=tls,dir={self.directory},endpoint=server,verify-peer=on"
            command += ["--object", credentials, "--tls-creds", "tls"]
        self.process = self.run(stack, [*command, str(self.image)])
        wait_until(lambda: listens(self.port), self.process)
