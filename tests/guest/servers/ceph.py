"""Ceph: one monitor and one OSD in memory, with cephx, for RBD images."""

from __future__ import annotations

import base64
import os
import struct
import subprocess
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from guest.servers.server import HOST, LoopbackServer, wait_until
from kube.cluster import free_ports

_CONFIGURATION = """
[global]
fsid = {fsid}
mon host = {monitors}
public addr = {host}
cluster addr = {host}
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = {directory}/admin.keyring
run dir = {directory}
admin socket = {directory}/$name.asok
log file = {directory}/$name.log
crash dir = {directory}/crash
pid file =
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
[mon]
mon data = {directory}/mon
keyring = {directory}/mon.keyring
# The monitor is alone: it need not wait for others to gather what it decides.
paxos propose interval = 0.02
paxos min wait = 0.01
# A node with little room left is no reason for a test to hang.
mon data avail crit = 1
# No manager runs: what it would balance and count is not needed.
mon mgr beacon grace = 86400
[osd]
osd data = {directory}/osd
keyring = {directory}/osd.keyring
osd objectstore = memstore
memstore device bytes = 1073741824
osd class load list = *
osd class default list = *
"""
_ALL = '\tcaps mds = "allow *"\n\tcaps mgr = "allow *"\n\tcaps mon = "allow *"\n\tcaps osd = "allow *"\n'


class Ceph(LoopbackServer):
    """A pool for RBD images, and a client that may use it."""

    programs: tuple[str, ...] = ("ceph-mon", "ceph-osd", "ceph", "rbd", "monmaptool")
    packages: tuple[str, ...] = ("ceph-mon", "ceph-osd", "ceph-common")
    pool = "disks"
    user = "tester"

    def __init__(self) -> None:
        super().__init__()
        self.key = _new_key()
        self.port, self._legacy_port = free_ports(2)

    @property
    def monitor(self) -> str:
        return f"{HOST}:{self.port}"

    def add(self, name: str, image: Path) -> None:
        """Makes an RBD image with the content of a raw disk."""
        self._run("rbd", "import", "--no-progress", str(image), f"{self.pool}/{name}")

    def read(self, name: str, target: Path) -> None:
        """Writes the content of an RBD image to a file."""
        target.unlink(missing_ok=True)
        self._run("rbd", "export", "--no-progress", f"{self.pool}/{name}", str(target))

    def _start(self, stack: ExitStack) -> None:
        fsid = str(uuid.uuid4())
        addresses = f"[v2:{HOST}:{self.port},v1:{HOST}:{self._legacy_port}]"
        self._configure(fsid, addresses)
        monitor_map = str(self.directory / "monmap")
        self._run("monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", addresses, monitor_map)
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitor_map, "--keyring", self._file("mon.keyring"))
        self.monitor_process = self.run(stack, ["ceph-mon", "-f", "-i", "a", "-c", self._file("ceph.conf")])
        identity = str(uuid.uuid4())
        disk = self._run("ceph", "osd", "new", identity).strip()
        self._run("ceph", "auth", "import", "-i", self._file("osd.keyring"))
        self._run("ceph-osd", "--mkfs", "-i", disk, "--osd-uuid", identity)
        self.process = self.run(stack, ["ceph-osd", "-f", "-i", disk, "-c", self._file("ceph.conf")])
        wait_until(lambda: "1 up" in self._run("ceph", "osd", "stat"), self.process)
        self._run("ceph", "osd", "pool", "create", self.pool)
        self._run("rbd", "pool", "init", self.pool)

    def _configure(self, fsid: str, addresses: str) -> None:
        text = _CONFIGURATION.format(fsid=fsid, monitors=addresses, host=HOST, directory=self.directory)
        (self.directory / "ceph.conf").write_text(text)
        for name in ("mon", "osd", "crash"):
            (self.directory / name).mkdir()
        admin = f"[client.admin]\n\tkey = {_new_key()}\n{_ALL}"
        client = f'[client.{self.user}]\n\tkey = {self.key}\n\tcaps mon = "profile rbd"\n\tcaps osd = "profile rbd"\n'
        disk = f'[osd.0]\n\tkey = {_new_key()}\n\tcaps mon = "allow profile osd"\n\tcaps osd = "allow *"\n'
        monitor = f'[mon.]\n\tkey = {_new_key()}\n\tcaps mon = "allow *"\n'
        _write_private(self.directory / "admin.keyring", admin)
        _write_private(self.directory / "osd.keyring", disk)
        # The monitor's first keyring is where the cluster takes its first users from.
        _write_private(self.directory / "mon.keyring", monitor + admin + client)

    def _file(self, name: str) -> str:
        return str(self.directory / name)

    def _run(self, *command: str) -> str:
        environment = {**os.environ, "CEPH_CONF": self._file("ceph.conf")}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def _new_key() -> str:
    """A key as ceph-authtool makes it: kind 1 (AES), the time, the length, the bytes."""
    header = struct.pack("<HIIH", 1, int(time.time()), 0, 16)
    return base64.b64encode(header + os.urandom(16)).decode()


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)
