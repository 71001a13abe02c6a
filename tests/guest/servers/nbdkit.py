"""nbdkit: the files of a directory, each as an NBD export of its name; open, or with TLS and client certificates."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from guest.servers.certificates import Certificates
from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports


class Nbdkit(LoopbackServer):
    """Serves raw images for reading and writing."""

    programs = ("nbdkit",)
    packages = ("nbdkit",)

    def __init__(self, files: Path, certificates: Certificates | None = None) -> None:
        super().__init__()
        self.files, self.certificates = files, certificates
        (self.port,) = free_ports(1)

    def uri(self, export: str) -> str:
        return f"{'nbds' if self.certificates else 'nbd'}://{HOST}:{self.port}/{export}"

    def _start(self, stack: ExitStack) -> None:
        command = ["nbdkit", "--foreground", "--ipaddr", HOST, "--port", str(self.port)]
        if self.certificates:
            self.certificates.write_server(self.directory)
            command += ["--tls=require", "--tls-verify-peer", f"--tls-certificates={self.directory}"]
        self.process = self.run(stack, [*command, "file", f"dir={self.files}"])
        wait_until(lambda: listens(self.port), self.process)
