"""What may be asked of an import, and what it tells afterwards."""

from dataclasses import dataclass, field
from pathlib import Path

from ingot.images.registry.manifest import Platform
from ingot.images.registry.settings import Settings


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`checksum`: the digest that the source must have, as sha256:HEX or sha512:HEX; of an image in a registry, its
    manifest's. `size`: what the disk is grown to, in bytes; 0 for as it is. `format`: raw or qcow2. `limit`: the
    largest virtual size that is taken, 0 for any. `rate`: bytes per second that the source is read with at most, 0
    for no bound. `replace`: an existing file, or a device that is complete already, is written anew. `state`: the
    directory for the journals of block devices. `settings`: how registries and web servers are reached; those of the
    machine without it. `authorization`: that header for a web server. `platform`: which image of an index; that of
    this machine without it. `cache`: the directory with chunks that need not be fetched, and with the list of disks
    that have some; the finished disk is added to that list.
    """

    checksum: str = ""
    size: int = 0
    format: str = "raw"
    limit: int = 0
    rate: int = 0
    replace: bool = False
    state: Path | None = None
    settings: Settings | None = None
    authorization: str = field(default="", repr=False)
    platform: Platform | None = None
    cache: Path | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """`size` of the disk; bytes `written` to the target, `fetched` from the source, `local` that this machine had, and
    `spooled` beside the target, by this run; `resumed_from`, the bytes that an earlier run had moved, which is all of
    a disk that was complete already; `identity` of what was imported; `anew`, whether an interrupted run had left
    something that could not be gone on with."""

    size: int
    written: int
    fetched: int
    spooled: int
    resumed_from: int
    identity: str
    local: int = 0
    anew: bool = False
