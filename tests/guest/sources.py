"""Every kind of source with three disks behind it, for machines to use: what the matrix goes through.

`own` is written to by the guest, `shared` is used by several disks of it and must stay as it is, `cd` is an ISO image.
"""

from __future__ import annotations

import shutil
import subprocess
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TypeVar

from guest import manifests
from guest.disks import cdrom, content, data_disk
from guest.servers.ceph import Ceph
from guest.servers.certificates import Certificates
from guest.servers.gluster import Gluster
from guest.servers.nbdkit import Nbdkit
from guest.servers.nginx import Nginx
from guest.servers.server import HOST, LoopbackServer
from guest.servers.storage_daemon import StorageDaemon
from guest.servers.tgt import Tgt
from ingot.api.object import Object

IMAGES = ("own", "shared", "cd")
S = TypeVar("S", bound=LoopbackServer)


class Servers(Protocol):
    """Servers for one test: those that it starts, and the two that all tests share."""

    def start(self, server: S) -> S: ...
    @property
    def ceph(self) -> Ceph: ...
    @property
    def gluster(self) -> Gluster: ...


class Images:
    """The three raw images in a directory, and the digest of the file on each."""

    def __init__(self, directory: Path, mark: str) -> None:
        directory.mkdir()
        directory.chmod(0o755)
        self.directory = directory
        self.digests = {name: data_disk(directory / name, content(f"{mark} {name}")) for name in ("own", "shared")}
        self.digests["cd"] = cdrom(directory / "cd", content(f"{mark} cd"), f"cd-{mark}")
        for name in IMAGES:
            (directory / name).chmod(0o666)

    def path(self, name: str) -> Path:
        return self.directory / name


class Source(ABC):
    """One kind of source, in one namespace. `secrets` may be seen by nobody but the server."""

    writable = True
    secrets: tuple[str, ...] = ()

    def __init__(self, images: Images, namespace: str) -> None:
        self.images, self.namespace = images, namespace

    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        """Makes the images available; the objects that a machine needs besides, such as Secrets."""
        return []

    @abstractmethod
    def volume(self, image: str) -> Object:
        """What a volume says to lead to an image."""

    def read(self, image: str, target: Path) -> None:
        """Copies what the server has of an image now."""
        shutil.copy(self.images.path(image), target)


class HostDisk(Source):
    def volume(self, image: str) -> Object:
        return {"hostDisk": {"path": str(self.images.path(image)), "type": "Disk"}}


class FilesystemClaim(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        objects = []
        for image in IMAGES:
            directory = self._directory(image)
            directory.mkdir()
            directory.chmod(0o755)
            self.images.path(image).rename(directory / "disk.img")
            where = {"local": {"path": str(directory)}, "nodeAffinity": manifests.on_node(node)}
            objects += manifests.bound_claim(self.namespace, image, "Filesystem", **where)
        return objects

    def volume(self, image: str) -> Object:
        return {"persistentVolumeClaim": {"claimName": image}}

    def read(self, image: str, target: Path) -> None:
        shutil.copy(self._directory(image) / "disk.img", target)

    def _directory(self, image: str) -> Path:
        return self.images.directory / f"volume-{image}"


class BlockClaim(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        objects = []
        for image in IMAGES:
            command = ["losetup", "--find", "--show", str(self.images.path(image))]
            device = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            stack.callback(subprocess.run, ["losetup", "--detach", device], check=True)
            where = {"local": {"path": device}, "nodeAffinity": manifests.on_node(node)}
            objects += manifests.bound_claim(self.namespace, image, "Block", **where)
        return objects

    def volume(self, image: str) -> Object:
        return {"persistentVolumeClaim": {"claimName": image}}


class Nbd(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        self._server = servers.start(StorageDaemon({f"Some/{name}": self.images.path(name) for name in IMAGES}))
        return []

    def volume(self, image: str) -> Object:
        return {"nbd": {"host": HOST, "port": self._server.port, "export": f"Some/{image}"}}


class EncryptedNbd(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        certificates = Certificates()
        self.secrets = (certificates.client_key.splitlines()[1],)
        self._server = servers.start(Nbdkit(self.images.directory, certificates))
        ours = {"tls.crt": certificates.client_certificate, "tls.key": certificates.client_key}
        authority = {"ca.crt": certificates.authority}
        return [
            manifests.secret(self.namespace, "client", ours),
            manifests.config_map(self.namespace, "authority", authority),
        ]

    def volume(self, image: str) -> Object:
        return {
            "networkVolume": {
                "uri": self._server.uri(image),
                "format": "raw",
                "readOnly": image != "own",
                "secretRef": {"name": "client"},
                "certConfigMap": {"name": "authority"},
            }
        }


class Iscsi(Source):
    user, password = "someone", "Secret-of-CHAP-7"
    secrets = (password,)

    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        server = servers.start(Tgt([(name, self.images.path(name)) for name in IMAGES], self.user, self.password))
        self._server = server
        keys = {"node.session.auth.username": self.user, "node.session.auth.password": self.password}
        chap = manifests.secret(self.namespace, "chap", keys)
        return [{**chap, "type": "kubernetes.io/iscsi-chap"}]

    def _where(self, image: str) -> Object:
        server = self._server
        return {"targetPortal": server.portal, "iqn": server.iqn, "lun": server.lun(image)}

    def volume(self, image: str) -> Object:
        return {"iscsi": {**self._where(image), "secretRef": {"name": "chap"}}}


class IscsiClaim(Iscsi):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        objects = super().start(stack, servers, node)
        chap = {"chapAuthSession": True, "secretRef": {"name": "chap", "namespace": self.namespace}}
        for image in IMAGES:
            where = {"iscsi": {**self._where(image), **chap}}
            objects += manifests.bound_claim(self.namespace, image, "Block", **where)
        return objects

    def volume(self, image: str) -> Object:
        return {"persistentVolumeClaim": {"claimName": image}}


class Rbd(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        server = servers.ceph
        self._server, self.secrets = server, (server.key,)
        for image in IMAGES:
            server.add(f"{self.namespace}-{image}", self.images.path(image))
        return [manifests.secret(self.namespace, "cephx", {"userID": server.user, "userKey": server.key})]

    def volume(self, image: str) -> Object:
        server = self._server
        where = {"monitors": [server.monitor], "pool": server.pool, "image": f"{self.namespace}-{image}"}
        return {"rbd": {**where, "user": server.user, "secretRef": {"name": "cephx"}}}

    def read(self, image: str, target: Path) -> None:
        self._server.read(f"{self.namespace}-{image}", target)


class GlusterFile(Source):
    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        server = servers.gluster
        self._server = server
        for image in IMAGES:
            server.add(f"{self.namespace}-{image}", self.images.path(image))
        return []

    def volume(self, image: str) -> Object:
        where = {"host": self._server.host, "volume": self._server.volume}
        return {"gluster": {**where, "path": f"{self.namespace}-{image}"}}

    def read(self, image: str, target: Path) -> None:
        shutil.copy(self._server.files / f"{self.namespace}-{image}", target)


class Http(Source):
    writable = False

    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        self._server = servers.start(Nginx(self.images.directory, "reader", "-"))
        return []

    def volume(self, image: str) -> Object:
        return {"http": {"url": f"{self._server.http}/{image}"}}


class Https(Source):
    writable = False
    secrets = ("Open-Sesame-9",)

    def start(self, stack: ExitStack, servers: Servers, node: str) -> list[Object]:
        server = servers.start(Nginx(self.images.directory, "reader", self.secrets[0]))
        self._server = server
        return [
            manifests.secret(self.namespace, "login", {"username": server.user, "password": server.password}),
            manifests.config_map(self.namespace, "authority", {"ca.crt": server.certificates.authority}),
        ]

    def volume(self, image: str) -> Object:
        url = f"{self._server.https}/private/{image}"
        return {"http": {"url": url, "secretRef": {"name": "login"}, "certConfigMap": {"name": "authority"}}}


SOURCES: dict[str, type[Source]] = {
    "file": HostDisk,
    "claim-filesystem": FilesystemClaim,
    "claim-block": BlockClaim,
    "nbd": Nbd,
    "nbds": EncryptedNbd,
    "iscsi": Iscsi,
    "claim-iscsi": IscsiClaim,
    "rbd": Rbd,
    "gluster": GlusterFile,
    "http": Http,
    "https": Https,
}
