"""GlusterFS: one server with one brick, on an address of its own."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

from guest.servers.server import LoopbackServer, listens, wait_until

_CONFIGURATION = """
volume management
    type mgmt/glusterd
    option working-directory {directory}/state
    option run-directory {directory}/run
    option logging-directory {directory}/logs
    option transport-type socket
    option transport.socket.bind-address {host}
    option transport.socket.listen-port 24007
    option transport.socket.read-fail-log off
    option transport.address-family inet
    option glusterd-sockfile {directory}/control
    option event-threads 1
    option ping-timeout 0
end-volume
"""


class Gluster(LoopbackServer):
    """A volume of one brick, which holds files for reading and writing."""

    programs = ("glusterd", "glusterfsd", "gluster", "ip")
    packages = ("glusterfs-server", "iproute2")
    volume = "disks"
    port = 24007

    def __init__(self) -> None:
        super().__init__()
        # It refuses to be on 127.0.0.0/8: an address of the range for benchmarks, which nobody routes.
        self.host = f"198.18.{random.randrange(256)}.{random.randrange(1, 255)}"  # noqa: S311

    @classmethod
    def why_not(cls) -> str:
        if os.geteuid() != 0:
            return "a Gluster brick needs an address of its own, which only root can add: run the tests as root"
        return super().why_not()

    @property
    def files(self) -> Path:
        """Where the brick keeps the files of the volume."""
        return self.directory / "brick"

    def add(self, name: str, image: Path) -> None:
        """Puts a disk on the volume before anybody has it mounted."""
        shutil.copy(image, self.files / name)

    def _start(self, stack: ExitStack) -> None:
        self._add_address(stack)
        for name in ("state", "run", "brick", "logs/bricks"):
            (self.directory / name).mkdir(parents=True)
        configuration = self.directory / "glusterd.vol"
        configuration.write_text(_CONFIGURATION.format(directory=self.directory, host=self.host))
        log = str(self.directory / "logs" / "glusterd.log")
        pid = str(self.directory / "glusterd.pid")
        command = ["glusterd", "--no-daemon", "-f", str(configuration), "-p", pid, "--log-file", log]
        self.process = self.run(stack, command)
        wait_until(lambda: listens(self.port, self.host), self.process)
        self._admin("volume", "create", self.volume, f"{self.host}:{self.files}", "force")
        self._admin("volume", "start", self.volume)
        # The brick is a process of its own, which would outlive the daemon.
        stack.callback(self._admin, "volume", "stop", self.volume, "force")

    def _add_address(self, stack: ExitStack) -> None:
        where = [f"{self.host}/32", "dev", "lo"]
        subprocess.run(["ip", "address", "add", *where], check=True)
        stack.callback(subprocess.run, ["ip", "address", "del", *where], check=True)

    def _admin(self, *words: str) -> str:
        control = f"--glusterd-sock={self.directory}/control"
        command = ["gluster", "--mode=script", control, f"--log-file={self.directory}/logs/cli.log", *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
