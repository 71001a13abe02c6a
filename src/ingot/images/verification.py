"""Whether an image in a registry is what its digest says, to the last chunk."""

import hashlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.digest import Digest
from ingot.images.disk import FOREIGN, format_of, open_disk
from ingot.images.fault import ImageFault
from ingot.images.fetching import fetch
from ingot.images.reference import Reference
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.manifest import INDEXES, Descriptor, Index, Platform
from ingot.images.stream import open_stream
from ingot.images.watched_blob import WatchedBlob
from ingot.images.zeros import are_zeros
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.position import FOOTER_SIZE, POSITION, Position

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Verified:
    """How many layers, their bytes and chunks were read and found right."""

    layers: int
    size: int
    chunks: int


def named(
    registry: Registry, reference: Reference, platform: Platform | None
) -> tuple[Digest, list[tuple[str, Image]]]:
    """The images that a reference stands for, one or more, with what each is for, and the digest of all: of an index
    all but those for nothing, as attestations are, or else the one for `platform`. Raises ImageFault."""
    if platform is not None:
        image = registry.resolve(reference, platform)
        return image.digest, [(str(platform), image)]
    document = registry.manifest(reference)
    entries = document.parsed.manifests if isinstance(document.parsed, Index) else None
    if entries is None:
        return document.digest, [("", registry.resolve(reference.at(document.digest)))]
    images = [(str(each.platform or "any"), _entry(registry, reference, each)) for each in entries if _is_used(each)]
    if not images:
        raise ImageFault(str(reference), "NoPlatform", "it is an index without any image for a machine")
    return document.digest, images


def _is_used(entry: Descriptor) -> bool:
    return entry.platform is None or entry.platform.os != "unknown"


def _entry(registry: Registry, reference: Reference, entry: Descriptor) -> Image:
    """An index within the index is asked for its own image of that platform."""
    return registry.resolve(reference.at(entry.digest), entry.platform if entry.media_type in INDEXES else None)


def verify_image(registry: Registry, image: Image, progress: Progress = lambda done, whole: None) -> Verified:
    """Reads all of an image: every blob must have its digest, every chunk be where the table says and have its own,
    and the tar must hold the same disk as the chunks. Raises ImageFault for the first thing that is wrong."""
    registry.config(image)
    return _Verification(registry, image, progress).run()


class _Verification:
    """One pass over all layers."""

    def __init__(self, registry: Registry, image: Image, progress: Progress) -> None:
        self._registry = registry
        self._image = image
        self._progress = progress
        self._whole = sum(layer.size for layer in image.manifest.layers)
        self._done = 0

    def run(self) -> Verified:
        disk = open_container_disk(self._registry, self._image)
        chunks = 0
        for layer in self._image.manifest.layers:
            if layer.digest != disk.layer.digest:
                self._hash(layer)
            elif disk.pieces is None:
                self._unpack(disk)
            else:
                chunks = self._check_chunks(disk, disk.pieces)
            self._done += layer.size
        return Verified(len(self._image.manifest.layers), self._whole, chunks)

    def _step(self, count: int) -> None:
        self._progress(self._done + count, self._whole)

    def _hash(self, layer: Descriptor) -> None:
        for piece in fetch(self._registry.blob(self._image.reference, layer), layer.digest, 0, None, 2):
            self._step(piece.end)

    def _unpack(self, disk: ContainerDisk) -> None:
        with disk.stream() as stream:
            for _ in stream:
                self._step(stream.fetched)

    def _check_chunks(self, disk: ContainerDisk, pieces: Pieces) -> int:
        """How many chunks there are."""
        _check_footer(disk)
        _check_tables(disk)
        blob = WatchedBlob(disk.blob, pieces)
        unpacked = _Unpacked(disk.blob.subject, pieces)
        with open_stream(blob, digest=disk.layer.digest, layer=True) as stream:
            for data in stream:
                unpacked.feed(data)
                self._step(stream.fetched)
        unpacked.finish()
        return blob.checked


class _Unpacked:
    """Takes the disk's file out of the tar in order: it must be what the table says."""

    def __init__(self, subject: str, pieces: Pieces) -> None:
        self._subject = subject
        self._pieces = pieces
        self._index = 0
        self._position = 0
        self._hash = hashlib.sha256()

    def feed(self, data: memoryview) -> None:
        """Raises ImageFault."""
        while len(data):
            if self._index == len(self._pieces):
                raise self._fault("is longer in the tar than in the table")
            end = self._pieces.offsets[self._index + 1]
            part = data[: end - self._position]
            self._position += len(part)
            self._take(part)
            data = data[len(part) :]
            if self._position == end:
                self._close()

    def _take(self, part: memoryview) -> None:
        """A part of the next piece. Zeros need no hash: a table may have holes that are larger than any memory."""
        if not self._pieces.is_zeros(self._index):
            self._hash.update(part)
        elif not are_zeros(part):
            raise self._differs()

    def _close(self) -> None:
        chunk = self._pieces.chunk(self._index)
        if chunk is not None and self._hash.digest() != chunk.digest:
            raise self._differs()
        self._hash = hashlib.sha256()
        self._index += 1

    def finish(self) -> None:
        """Raises ImageFault."""
        if self._index != len(self._pieces):
            raise self._fault("is shorter in the tar than in the table")

    def _differs(self) -> ImageFault:
        return self._fault(f"has other bytes before {self._position} in the tar than in the table")

    def _fault(self, message: str) -> ImageFault:
        return ImageFault(self._subject, "TwoDisks", f"its disk {message}: tools would disagree about it")


def _check_tables(disk: ContainerDisk) -> None:
    """All tables of the disk are read: those that do not hold together are a fault. QEMU reads its own formats from
    files only, so of such a disk nothing is known but that its bytes are right, as of one in a layer without chunks."""
    file = disk.content()
    if (format := format_of(file)) in FOREIGN:
        return
    content = open_disk(file, format, subject=disk.blob.subject)
    deque(content.extents(0, content.size), maxlen=0)


def _check_footer(disk: ContainerDisk) -> None:
    """The footer, by which some tools find the table, must agree with the annotations. Old layers have another one."""
    annotations = disk.layer.annotations or {}
    if POSITION not in annotations:
        return
    subject, size = disk.blob.subject, disk.blob.size
    position, _ = Position.from_annotations(subject, annotations, size)
    footer = bytes(disk.blob.read(max(size - FOOTER_SIZE, 0), min(FOOTER_SIZE, size)))
    if Position.from_footer(subject, footer, size) != position:
        raise ImageFault(subject, "BadTable", "its footer names another table of contents than its annotations")
