"""nbdkit: the files of a directory, each as an NBD export of its name; open, or with TLS and client certificates."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from guest.servers.certificates import Certificates
from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports


class Nbdkit(LoopbackServer):
    """Serves raw images for reading and writing; at most so many bits in a second, where `rate` says so."""

    programs = ("nbdkit",)
    packages = ("nbdkit",)

    def __init__(self, files: Path, certificates: Certificates | None = None, rate: str = "") -> None:
        super().__init__()
        self.files, self.certificates, self.rate = files, certificates, rate
        (self.port,) = free_ports(1)

    def uri(self, export: str) -> str:
        return f"{'nbds' if self.certificates else 'nbd'}://{HOST}:{self.port}/{export}"

    def _start(self, stack: ExitStack) -> None:
        command = ["nbdkit", "--foreground", "--ipaddr", HOST, "--port", str(self.port)]
        if self.certificates:
            self.certificates.write_server(self.directory)
            command += ["--tls=require", "--tls-verify-peer", f"--tls-certificates={self.directory}"]
        # nbdkit 1.32 fails an assertion where a client is cut off while several of its requests wait.
        slowly = (["--threads=1", "--filter=rate"], [f"rate={self.rate}"]) if self.rate else ([], [])
        self.process = self.run(stack, [*command, *slowly[0], "file", f"dir={self.files}", *slowly[1]])
        wait_until(lambda: listens(self.port), self.process)
