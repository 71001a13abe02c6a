"""Archives: a tar from anywhere, compressed or not, becomes the files of a volume, all of them or none."""

import errno
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ingot.images.archive.reader import ArchiveReader
from ingot.images.archive.staging import Staging
from ingot.images.archive.tree import Tree
from ingot.images.blob import Blob, FileBlob
from ingot.images.codec.choice import decompressor, sniff
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.fetching import Fetched, fetch
from ingot.images.pipeline.checked import CheckedBlob
from ingot.images.pipeline.material import RESUMABLE, wanted_digest
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Kind, Source
from ingot.images.relay import Relay
from ingot.images.tar_header import MOST_BYTES

Progress = Callable[[int, int], None]
_AHEAD = 4
# Headers, and what an archive is padded with, beside the files.
_MOST_BESIDE = 4 << 30
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """`size`: bytes of all files; `fetched` of the archive; both 0 where an earlier run had only to move the files."""

    size: int
    fetched: int
    identity: str


def unpack(source: Source, directory: Path, options: ImportOptions, progress: Progress) -> Unpacked:
    """Puts the files of an archive into `directory`, whose names show them only when all are there, checked and on the
    disk. At most `options.limit` or `options.size` bytes are taken. The volume has no files of others. One that is
    killed begins anew, unless it had only to show what was there, and takes the place of what it has shown. Raises
    ImageFault."""
    with ExitStack() as stack:
        staging = stack.enter_context(Staging(directory, own=True))
        if publish_rest(staging):
            return Unpacked(0, 0, "")
        blob, identity = _open(source, options, stack)
        limit = options.limit or options.size or MOST_BYTES
        size = unpack_blob(blob, wanted_digest(options), staging, limit, progress)
        return Unpacked(size, blob.size, identity)


def publish_rest(staging: Staging) -> bool:
    """Whether an earlier run had unpacked all, and only to show it or to tell of it: it is shown now. Raises
    ImageFault."""
    with _disk_faults(staging):
        if not staging.is_complete():
            return False
        staging.publish()
        return True


def unpack_blob(blob: Blob, digest: Digest | None, staging: Staging, limit: int, progress: Progress) -> int:
    """As `unpack`, of an archive that is open; how many bytes its files have. Raises ImageFault."""
    with _disk_faults(staging):
        staging.begin()
        size = _fill(blob, digest, staging.files, limit, progress)
        staging.commit()
        staging.publish()
        return size


def _open(source: Source, options: ImportOptions, stack: ExitStack) -> tuple[Blob, str]:
    if source.kind in (Kind.HTTP, Kind.S3):
        from ingot.images.pipeline.web import open_file

        return open_file(source, options, stack)
    if source.kind is Kind.FILE:
        return stack.enter_context(FileBlob(Path(source.place))), ""
    message = f"an archive comes from a web server or S3, and not from {source.kind}: leave contentType out"
    raise ImageFault(str(source), "BadSource", message)


def _fill(blob: Blob, digest: Digest | None, directory: int, limit: int, progress: Progress) -> int:
    if digest is not None and digest.algorithm != RESUMABLE:
        blob, digest = CheckedBlob(blob, digest), None
    pieces = Relay(lambda: fetch(blob, digest, 0, None, _AHEAD + 2), _AHEAD, "fetch")
    with closing(pieces), Tree(directory) as tree, closing(ArchiveReader(blob.subject, tree, limit)) as reader:
        for data in _decoded(pieces, blob, limit, progress):
            reader.feed(data)
        reader.finish()
        return reader.size


def _decoded(pieces: Iterator[Fetched], blob: Blob, limit: int, progress: Progress) -> Iterator[memoryview]:
    """The bytes of the tar. Raises ImageFault for one that goes on and on."""
    codec, decoded = None, 0
    for piece in pieces:
        codec = codec or decompressor(sniff(piece.data), blob.subject)
        for output in codec.decompress(piece.data):
            decoded += len(output)
            if decoded > limit + _MOST_BESIDE:
                message = f"it is larger than {limit} bytes and {_MOST_BESIDE} more when decompressed"
                raise ImageFault(blob.subject, "TooLarge", message)
            yield memoryview(output)
        progress(piece.end, blob.size)
    if codec is None:
        raise ImageFault(blob.subject, "Truncated", "it has no bytes at all")
    codec.finish()


@contextmanager
def _disk_faults(staging: Staging) -> Iterator[None]:
    """Tells what is wrong with the volume, and gives back the room that was taken."""
    try:
        yield
    except ImageFault:
        staging.discard()
        raise
    except OSError as error:
        staging.discard()
        if error.errno in _FULL:
            message = "there is no room for the files of the archive: take a larger volume"
            raise ImageFault("the volume", "DiskFull", message) from None
        message = f"it cannot be written: {error.strerror}"
        raise ImageFault("the volume", "WriteFailed", message) from None
