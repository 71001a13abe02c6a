"""Endpoints: where a disk's bytes are, whatever it was that led there."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

from ingot.api.kubevirt.uri import HostPort
from ingot.host.descriptor import Descriptor

Protocol: TypeAlias = Literal["nbd", "iscsi", "rbd", "gluster", "http", "https"]


class Format(StrEnum):
    RAW = "raw"
    QCOW2 = "qcow2"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who we are to a server. The secret is never printed; it goes into libvirt's secrets or a private file."""

    user: str
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tls:
    """What an encrypted connection needs, in PEM: the authority that the server is checked against ("": the
    machine's own), and our own certificate and key where the server wants them."""

    authority: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class File:
    """A file on this node. An overlay has the endpoint below it as `backing`.

    `opened` is the file as it was found and looked at, where others could put another in its place: nothing opens it
    by its path again. A file of our own has none.
    """

    path: Path
    format: Format = Format.RAW
    # What the storage is called, whichever way it was reached: any two endpoints that share one are the same bytes.
    identities: frozenset[str] = frozenset()
    backing: "Endpoint | None" = None
    opened: Descriptor | None = field(default=None, compare=False, repr=False)

    @property
    def reach(self) -> Path:
        """The path by which we open it."""
        return self.opened.path if self.opened is not None else self.path


@dataclass(frozen=True, slots=True)
class Block:
    """A block device on this node."""

    path: Path
    format: Format = Format.RAW
    identities: frozenset[str] = frozenset()

    @property
    def reach(self) -> Path:
        """The path by which we open it."""
        return self.path


@dataclass(frozen=True, slots=True)
class Network:
    """An export of a server.

    `name` is the protocol's: an NBD export, an IQN, `pool/image`, `volume/path`, or the path and query of a URL.
    `socket` stands in place of `hosts` for a server on this node. `tls` is None for an open connection. `origin` tells
    people where the bytes come from, when that is not the server itself.
    """

    protocol: Protocol
    name: str
    hosts: tuple[HostPort, ...] = ()
    socket: Path | None = None
    lun: int = 0
    initiator: str = ""
    format: Format = Format.RAW
    tls: Tls | None = None
    credentials: Credentials | None = None
    origin: str = ""
    identities: frozenset[str] = frozenset()


Endpoint: TypeAlias = File | Block | Network
