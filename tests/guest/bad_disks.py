"""Disks that are not as they should be: how each is spoilt, what is told of it, and how it is put right."""

from __future__ import annotations

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path

from guest import lab as living
from guest import manifests
from guest.disks import MIB, content, data_disk, qcow2
from guest.lab import Lab
from guest.servers.nginx import Nginx
from guest.servers.server import HOST
from guest.servers.storage_daemon import StorageDaemon
from guest.servers.tgt import Tgt
from ingot.api.object import Object
from ingot.api.resources import SECRETS
from ingot.kube.client import Client
from kube.cluster import free_ports

CLAIM = {"persistentVolumeClaim": {"claimName": "data"}}


class BadDisk(ABC):
    """One case: a namespace and a directory of its own, and a machine with one disk that is refused."""

    reason: str
    # Words of the message.
    said: str
    needs_root = False

    def __init__(self, lab: Lab, client: Client, stack: ExitStack, namespace: str) -> None:
        self.lab, self.client, self.stack, self.namespace = lab, client, stack, namespace
        self.directory = lab.home / namespace
        self.directory.mkdir()
        self.directory.chmod(0o755)
        self.disk = self.directory / "disk.img"

    @abstractmethod
    async def spoil(self) -> Object:
        """Makes what is wrong; the source of the machine's volume."""

    @abstractmethod
    async def mend(self) -> None:
        """Puts it right."""

    async def add(self, *objects: Object) -> None:
        for each in objects:
            await self.client.create(manifests.resource_of(each), each)

    async def add_claim(self) -> None:
        """A claim on the directory."""
        where = {
            "local": {"path": str(self.directory)},
            "nodeAffinity": manifests.on_node(await living.node_name(self.client)),
        }
        await self.add(*manifests.bound_claim(self.namespace, "data", "Filesystem", **where))

    def right(self) -> Path:
        """A disk as it should be, beside the directory."""
        path = self.directory.with_suffix(".raw")
        data_disk(path, content(self.namespace))
        return path


class MissingClaim(BadDisk):
    reason, said = "FailedPvcNotFound", "starts by itself once it is there"

    async def spoil(self) -> Object:
        self.right().rename(self.disk)
        return CLAIM

    async def mend(self) -> None:
        await self.add_claim()


class TwoFiles(BadDisk):
    reason, said = "TooManyFiles", "'other.img'"

    async def spoil(self) -> Object:
        self.right().rename(self.disk)
        (self.directory / "other.img").write_bytes(b"")
        await self.add_claim()
        return CLAIM

    async def mend(self) -> None:
        (self.directory / "other.img").unlink()


class Qcow2InPlaceOfRaw(BadDisk):
    reason, said = "BadImage", "must be raw, and is a qcow2 image"

    async def spoil(self) -> Object:
        qcow2(self.right(), self.disk)
        await self.add_claim()
        return CLAIM

    async def mend(self) -> None:
        self.right().replace(self.disk)


class LinkInPlaceOfFile(BadDisk):
    reason, said = "BadImage", "is a symbolic link"

    async def spoil(self) -> Object:
        self.disk.symlink_to(self.right())
        await self.add_claim()
        return CLAIM

    async def mend(self) -> None:
        self.right().replace(self.disk)


class BackingFileElsewhere(BadDisk):
    """A qcow2 that anybody can serve, and that leads to a file of this machine."""

    reason, said = "BadImage", "backing file"

    def option(self) -> str:
        return "backing_file=/etc/passwd,backing_fmt=raw"

    async def spoil(self) -> Object:
        self._make()
        server = self.stack.enter_context(Nginx(self.directory, "nobody", "-"))
        return {"networkVolume": {"uri": f"{server.http}/{self.disk.name}", "format": "qcow2"}}

    def _make(self) -> None:
        command = ["qemu-img", "create", "-q", "-f", "qcow2", "-o", self.option(), str(self.disk), "8M"]
        subprocess.run(command, check=True, capture_output=True)

    async def mend(self) -> None:
        qcow2(self.right(), self.disk.with_suffix(".new"))
        shutil.copy(self.disk.with_suffix(".new"), self.disk)


class DataFileElsewhere(BackingFileElsewhere):
    said = "data file"

    def option(self) -> str:
        return f"data_file={self.directory.with_suffix('.elsewhere')}"


class WrongCredentials(BadDisk):
    reason, said = "AccessDenied", "check the Secret"
    user, password = "someone", "the-right-one"

    async def spoil(self) -> Object:
        server = self.stack.enter_context(Tgt([("lun", self.right())], self.user, self.password))
        await self.add(manifests.secret(self.namespace, "chap", {"username": self.user, "password": "the-wrong-one"}))
        where = {"targetPortal": server.portal, "iqn": server.iqn, "lun": 1}
        return {"iscsi": {**where, "secretRef": {"name": "chap"}}}

    async def mend(self) -> None:
        keys = {"username": self.user, "password": self.password}
        await self.client.replace(SECRETS, manifests.secret(self.namespace, "chap", keys))


class UnreachableServer(BadDisk):
    reason, said = "Unreachable", "cannot be reached"

    async def spoil(self) -> Object:
        self.server = StorageDaemon({"disk": self.right()})
        (self.server.port,) = free_ports(1)
        return {"nbd": {"host": HOST, "port": self.server.port, "export": "disk"}}

    async def mend(self) -> None:
        self.stack.enter_context(self.server)


class FullPool(BadDisk):
    """A clone, in storage with room for less."""

    reason, said = "PoolFull", "room"
    needs_root = True

    async def spoil(self) -> Object:
        self._resize("4m")
        self.stack.callback(self._resize, "64m")
        data_disk(self.disk, content("large", 8 * MIB), 16 * MIB)
        self.disk.chmod(0o644)
        copy = {"mode": "clone", "usageType": "small"}
        return {"copy": copy, "hostDisk": {"path": str(self.disk), "type": "Disk"}}

    async def mend(self) -> None:
        self._resize("64m")

    def _resize(self, size: str) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(self.lab.small)], check=True)


CASES: dict[str, type[BadDisk]] = {
    "missing-claim": MissingClaim,
    "two-files": TwoFiles,
    "qcow2-in-place-of-raw": Qcow2InPlaceOfRaw,
    "link-in-place-of-file": LinkInPlaceOfFile,
    "backing-file-elsewhere": BackingFileElsewhere,
    "data-file-elsewhere": DataFileElsewhere,
    "wrong-credentials": WrongCredentials,
    "unreachable-server": UnreachableServer,
    "full-pool": FullPool,
}


def why_not(case: type[BadDisk]) -> str:
    """What is lacking for a case on this machine; "" when nothing is."""
    if case.needs_root and os.geteuid() != 0:
        return "a filesystem of its own can only be mounted by root: run the tests as root"
    return Nginx.why_not() or Tgt.why_not() or StorageDaemon.why_not()
