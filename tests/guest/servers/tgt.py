"""tgtd: an iSCSI target with a LUN for each image, open or with CHAP."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports

_TARGET = "1"


class Tgt(LoopbackServer):
    """Serves raw images as LUN 1, 2, … of `iqn`, each with the serial number that it is given beside its image."""

    programs = ("tgtd", "tgtadm")
    packages = ("tgt",)

    def __init__(self, images: Sequence[tuple[str, Path]], user: str = "", password: str = "") -> None:
        super().__init__()
        self.images, self.user, self.password = list(images), user, password
        self.iqn = "iqn.2026-01.io.ingot.test:disks"
        (self.port,) = free_ports(1)

    @property
    def portal(self) -> str:
        return f"{HOST}:{self.port}"

    def lun(self, serial: str) -> int:
        return [name for name, _ in self.images].index(serial) + 1

    def _start(self, stack: ExitStack) -> None:
        self._channel = {"TGT_IPC_SOCKET": str(self.directory / "control")}
        environment = [f"{name}={value}" for name, value in self._channel.items()]
        daemon = ["tgtd", "-f", "--control-port", str(self.port % 32768), "--iscsi", f"portal={self.portal}"]
        self.process = self.run(stack, ["env", *environment, *daemon])
        stack.callback(self._end)
        wait_until(lambda: listens(self.port), self.process)
        self._admin("new", "target", "--tid", _TARGET, "--targetname", self.iqn)
        for serial, image in self.images:
            lun = ["--tid", _TARGET, "--lun", str(self.lun(serial))]
            self._admin("new", "logicalunit", *lun, "--backing-store", str(image))
            self._admin("update", "logicalunit", *lun, "--params", f"scsi_sn={serial}")
        if self.user:
            self._admin("new", "account", "--user", self.user, "--password", self.password)
            self._admin("bind", "account", "--tid", _TARGET, "--user", self.user)
        self._admin("bind", "target", "--tid", _TARGET, "--initiator-address", "ALL")

    def _end(self) -> None:
        """It ignores SIGTERM while it has targets: they go first, and then it ends when it is told to."""
        self._admin("delete", "target", "--tid", _TARGET, "--force")
        self._admin("delete", "system")

    def _admin(self, operation: str, mode: str, *arguments: str) -> None:
        command = ["tgtadm", "--control-port", str(self.port % 32768), "--lld", "iscsi", "--op", operation]
        environment = {**os.environ, **self._channel}
        subprocess.run([*command, "--mode", mode, *arguments], check=True, capture_output=True, env=environment)
