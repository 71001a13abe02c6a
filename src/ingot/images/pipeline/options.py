"""What may be asked of an import, and what it tells afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.images.registry.manifest import Platform
from ingot.images.registry.settings import Settings

if TYPE_CHECKING:
    from ingot.images.nbd.address import Tls
    from ingot.images.s3 import Keys


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`checksum`: the digest that the source must have, as sha256:HEX, or with sha512, sha1 or md5; of an image in a
    registry, that of its manifest or of its index. `size`: what the disk is grown to, in bytes; 0 for as it is.
    `format`: raw or qcow2. `limit`: the largest virtual size that is taken, 0 for any. `rate`: bytes per second that
    the source is read with at most, 0 for no bound. `replace`: an existing file, or a device that is complete already,
    is written anew.
    `state`: the directory for the journals of block devices. `scratch`: the directory for what has to be put aside on
    the way to a file; beside the file without it. `settings`: how registries and web servers are reached;
    those of the machine without it. `authorization`: that header for a web server, and `headers`: others for it.
    `one_answer`: a file of a web server or S3 is read in one, whatever version of it the server says that this is.
    `keys`: what requests to S3 are signed with. `tls`: whom to trust as an NBD server, and who we are to it.
    `platform`: which image of an index; that of this machine without it. `cache`: the directory with chunks that need
    not be fetched, and with the list of disks that have some; the finished disk is added to that list. `preallocate`:
    the disk has no holes, so that nobody else can take its room. `padded`: a raw file gets whole blocks, by zeros at
    its end, so that a guest can start from it. `only_file`: the target is in a directory that
    strangers write to, and is a file there, whatever has its name. `previous`: the disk of another volume, most likely
    that of an earlier version, which chunks are taken from where it has them; `previous_device`: it is a block device.
    """

    checksum: str = ""
    size: int = 0
    format: str = "raw"
    limit: int = 0
    rate: int = 0
    replace: bool = False
    state: Path | None = None
    scratch: Path | None = None
    settings: Settings | None = None
    authorization: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    one_answer: bool = False
    keys: "Keys | None" = None
    tls: "Tls | None" = None
    platform: Platform | None = None
    cache: Path | None = None
    preallocate: bool = False
    padded: bool = False
    only_file: bool = False
    previous: Path | None = None
    previous_device: bool = False


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
