"""The disk of a container disk: which file of which layer it is, whichever tool built the image.

It is the one regular file in `disk/`, or the file `disk` itself, which `ADD x.qcow2 /disk` makes on a base without
that directory. An upper layer's disk wins over those below; whiteouts, and directories of the same name, hide them.
"""

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingot.images.blob import Blob
from ingot.images.chunk import Chunks
from ingot.images.fault import ImageFault
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.failover import read_anew
from ingot.images.registry.manifest import Descriptor
from ingot.images.tar_header import MOST_BYTES
from ingot.images.zstd_chunked.layer import ChunkedFile
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.position import is_chunked
from ingot.images.zstd_chunked.remote import RemoteChunks
from ingot.images.zstd_chunked.toc import Toc, read_toc

# Loaded where a layer has to be streamed: codecs take time to load.
if TYPE_CHECKING:
    from ingot.images.gzip_index import IndexBuilder
    from ingot.images.stream import Stream

DIRECTORY = "disk"
_WHITEOUT = ".wh."
_OPAQUE = ".wh..wh..opq"


@dataclass(frozen=True, slots=True)
class ContainerDisk:
    """A disk in the layer `layer`, whose blob is `blob`.

    With `pieces` it can be read at any place, each chunk verified. Without them the layer has to be read from its
    front, and is good only when all of it has been; `name` is not known before where it is empty.
    """

    image: Image
    layer: Descriptor
    blob: Blob
    name: str
    pieces: Pieces | None

    @property
    def how(self) -> str:
        """`chunked` or `stream`."""
        return "stream" if self.pieces is None else "chunked"

    def content(self, chunks: Chunks | None = None) -> ChunkedFile:
        """The file with the disk; its chunks from the registry, or from what stands before it. Only with `pieces`."""
        if self.pieces is None:
            raise ValueError(f"{self.blob.subject} has no chunks")
        return ChunkedFile(self.blob.subject, self.pieces, chunks or RemoteChunks(self.blob))

    def stream(
        self, *, resume: bytes | None = None, limit: int = MOST_BYTES, index: "IndexBuilder | None" = None
    ) -> "Stream":
        """The file with the disk from its front, as open_stream gives it; the layer's digest is checked."""
        from ingot.images.stream import open_stream

        return open_stream(self.blob, digest=self.layer.digest, resume=resume, limit=limit, layer=True, index=index)


@dataclass(slots=True)
class _Hidden:
    """What upper layers have taken away from those below."""

    everything: bool = False
    names: set[str] = field(default_factory=set)

    def add(self, name: str) -> None:
        """Takes note of a whiteout, or of a directory, whose name ends in a slash; others say nothing."""
        directory, _, last = name.rpartition("/")
        if not last:
            self.names.add(directory)
        elif last == _OPAQUE:
            self.everything |= directory in ("", DIRECTORY)
        elif last.startswith(_WHITEOUT):
            hidden = f"{directory}/{last.removeprefix(_WHITEOUT)}".lstrip("/")
            self.everything |= hidden == DIRECTORY
            self.names.add(hidden)


def open_container_disk(registry: Registry, image: Image) -> ContainerDisk:
    """Finds the disk. Layers without a table are read as far as needed, those above the disk as a whole.

    Raises ImageFault: NoDisk, TwoDisks, BadTable and whatever is wrong with a layer.
    """
    hidden = _Hidden()
    layers = image.manifest.layers
    for place, layer in reversed(list(enumerate(layers))):
        if hidden.everything:
            break
        blob = registry.blob(image.reference, layer)
        only = place == 0 and not hidden.names
        found = _search(image, layer, blob, only, hidden)
        if found is not None:
            return found
    raise ImageFault(str(image.reference), "NoDisk", f"none of its {len(layers)} layers has a regular file in disk/")


def _search(image: Image, layer: Descriptor, blob: Blob, only: bool, hidden: _Hidden) -> ContainerDisk | None:
    """The disk, if it is in this layer; otherwise what the layer hides is added. `only`: it cannot be elsewhere."""
    toc = _toc(layer, blob)
    if toc is None and only:
        return ContainerDisk(image, layer, blob, "", None)
    if toc is None:
        name, hiding = read_anew(blob, lambda: _streamed(layer, blob, hidden.names))
    else:
        name, hiding = disk_name(blob.subject, toc), _hiding(toc)
    if name is not None and name not in hidden.names:
        return ContainerDisk(image, layer, blob, name, None if toc is None else _pieces(toc, name))
    # A file of that name takes the place of the directory, though nobody sees the file.
    hidden.everything |= name == DIRECTORY
    for each in hiding:
        hidden.add(each)
    return None


def _toc(layer: Descriptor, blob: Blob) -> Toc | None:
    """None for a layer that has no table, or whose server has no ranges: it is read from its front."""
    if not is_chunked(layer.annotations or {}):
        return None
    try:
        return read_toc(blob, layer.annotations or {})
    except ImageFault as fault:
        if fault.reason != "NoRanges":
            raise
        return None


def disk_name(subject: str, toc: Toc) -> str | None:
    """The name of the disk in a layer; None where it has none. Raises ImageFault."""
    found: list[str] = []
    for name, entry in toc.members.items():
        parts = name.split("/")
        if parts[0] != DIRECTORY or len(parts) > 2 or parts[-1].startswith(_WHITEOUT):
            continue
        if entry.type == "reg":
            found.append(name)
        elif entry.type != "dir":
            raise ImageFault(subject, "BadTar", f"it has a {entry.type} at {name}, where only a disk may be")
    if len(found) > 1:
        raise ImageFault(subject, "TwoDisks", f"it has two disks, {found[0]} and {found[1]}: leave one")
    return found[0] if found else None


def _pieces(toc: Toc, name: str) -> Pieces | None:
    """None for a file with chunks that are too large to be held in memory: it is streamed."""
    try:
        return toc.pieces(name)
    except ImageFault as fault:
        if fault.reason != "LargeChunk":
            raise
        return None


def _hiding(toc: Toc) -> Iterable[str]:
    """As TarReader's."""
    for name, entry in toc.members.items():
        directory, _, last = name.rpartition("/")
        if directory in ("", DIRECTORY) and last.startswith(_WHITEOUT):
            yield name
        elif entry.type == "dir" and DIRECTORY in (directory, name):
            yield f"{name}/"


def _streamed(layer: Descriptor, blob: Blob, hidden: Collection[str]) -> tuple[str | None, Iterable[str]]:
    """The name of the disk in a layer, and what the layer hides. It is read until the disk begins; or all of it, and
    verified, if it has none, or one that is hidden."""
    from ingot.images.stream import open_stream

    with open_stream(blob, digest=layer.digest, layer=True) as stream:
        try:
            stream.head(1)
        except ImageFault as fault:
            if fault.reason != "NoDisk":
                raise
        name = stream.member.name if stream.member else None
        if name in hidden:
            deque(stream, maxlen=0)
        return name, stream.hiding
