"""The table of contents of a zstd:chunked layer: its files, and the chunks that they are made of."""

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated

import msgspec

from ingot.images.blob import Blob
from ingot.images.fault import ImageFault
from ingot.images.registry.failover import read_checked
from ingot.images.zstd_chunked.libzstd import BadFrame, inflate_into
from ingot.images.zstd_chunked.pieces import Pieces
from ingot.images.zstd_chunked.position import Position

# A chunk is inflated in memory as a whole. Tools cut files at 64 KiB on average.
MOST_CHUNK = 16 << 20
MOST_FILE = 1 << 50
# What frames may add to bytes that cannot be compressed.
_FRAMING = 4096
MOST_NAME = 4096
# Twice what the largest image of ours has. An entry takes some 400 bytes of memory while the table is read.
MOST_ENTRIES = 1 << 20
_is_digest = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII).fullmatch

_Number = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Entry(msgspec.Struct, gc=False, rename="camel", omit_defaults=True):
    """A member of the layer's tar, or (type "chunk") one more chunk of the file before it."""

    type: str
    name: str
    link_name: str = ""
    size: _Number = 0
    digest: str = ""
    offset: _Number = 0
    end_offset: _Number = 0
    chunk_size: _Number = 0
    chunk_offset: _Number = 0
    chunk_digest: str = ""
    chunk_type: str = ""


class _Table(msgspec.Struct):
    version: int
    entries: list[Entry]


class Toc:
    """The members of a layer by name, in the order of its tar. Names have no `/` or `./` before them."""

    def __init__(self, subject: str, entries: list[Entry], end: int) -> None:
        """`end` is where chunks must end in the blob. Raises ImageFault."""
        self._subject = subject
        self._end = end
        self._entries = entries
        self.members: dict[str, Entry] = {}
        self._places: dict[str, int] = {}
        # Names that are not UTF-8 all look alike in a table; only a file that is read must be the only one of its name.
        self._twice: set[str] = set()
        for place, entry in enumerate(entries):
            if entry.type != "chunk":
                self._add(place, entry)

    def _add(self, place: int, entry: Entry) -> None:
        name = self._clean(entry.name)
        if name in self.members:
            self._twice.add(name)
        self.members[name] = entry
        self._places[name] = place

    def _clean(self, name: str) -> str:
        if len(name) > MOST_NAME or "\0" in name:
            raise self._fault(f"its table has a name of {len(name)} characters; at most {MOST_NAME} and no NUL")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise self._fault(f"its table has the name {name!r}; names must not lead out of the layer")
        return "/".join(parts)

    def pieces(self, name: str) -> Pieces:
        """What this regular file is made of; verified to be whole and in order. Raises ImageFault."""
        entry = self.members[name]
        if name in self._twice:
            raise self._fault(f"its table has {name!r} twice")
        if entry.size > MOST_FILE:
            raise self._fault(f"{name} has {entry.size} bytes; at most {MOST_FILE}")
        parts = self._parts(name)
        pieces = Pieces()
        done = 0
        for index, part in enumerate(parts if entry.size else []):
            if part.name != entry.name:
                raise self._fault(f"chunk {index} of {name} is one of {part.name!r}")
            size = part.chunk_size if len(parts) > 1 else entry.size
            if part.chunk_offset != done or not 0 < size <= entry.size - done:
                raise self._fault(f"chunk {index} of {name} is not where the one before it ends, or is too large")
            # An end is written for the file only; a chunk goes up to the next one.
            end = entry.end_offset if index + 1 == len(parts) else parts[index + 1].offset
            if part.offset > end:
                raise self._fault(f"chunk {index} of {name} goes from byte {part.offset} of the blob back to {end}")
            if part.chunk_type == "zeros":
                pieces.append_zeros(size)
            else:
                digest = part.chunk_digest if len(parts) > 1 else entry.digest
                if fault := self._unfit(size, part.offset, end, digest):
                    raise ImageFault(self._subject, fault[0], f"chunk {index} of {name} {fault[1]}")
                pieces.append(size, part.offset, end, bytes.fromhex(digest[7:]))
            done += size
        if done != entry.size:
            raise self._fault(f"the chunks of {name} have {done} bytes, and it should have {entry.size}")
        return pieces

    def _parts(self, name: str) -> list[Entry]:
        """The entry of a file, which is its first chunk, and those of its other chunks."""
        start = end = self._places[name]
        while end + 1 < len(self._entries) and self._entries[end + 1].type == "chunk":
            end += 1
        return self._entries[start : end + 1]

    def _unfit(self, size: int, start: int, end: int, digest: str) -> tuple[str, str] | None:
        """Why a chunk cannot be used, as a reason and what to say of it; None for one that can."""
        if size > MOST_CHUNK:
            return "LargeChunk", f"has {size} bytes; at most {MOST_CHUNK}"
        if start == end or end > self._end:
            return "BadTable", f"goes from byte {start} to {end}, and chunks end at {self._end}"
        if end - start > 2 * size + _FRAMING:
            return "BadTable", f"has {size} bytes, and {end - start} compressed"
        if not _is_digest(digest):
            return "BadTable", f"has the digest {digest[:80]!r}; it must be sha256: and 64 hexadecimal digits"
        return None

    def _fault(self, message: str) -> ImageFault:
        return ImageFault(self._subject, "BadTable", message)


def read_toc(blob: Blob, annotations: Mapping[str, str]) -> Toc:
    """Reads the table by its position in the layer's annotations and verifies it. Raises ImageFault."""
    position, checksum = Position.from_annotations(blob.subject, annotations, blob.size)
    data = bytearray(position.length)

    def check() -> None:
        if hashlib.sha256(data).digest() != checksum:
            why = "its table of contents is not the one that the manifest names"
            raise ImageFault(blob.subject, "WrongDigest", why)

    read_checked(blob, position.start, memoryview(data), check)
    return parse_toc(blob.subject, inflate(blob.subject, data, position.size), position.start)


def inflate(subject: str, data: bytearray, size: int) -> bytearray:
    """A table that must have this size. Raises ImageFault."""
    table = bytearray(size)
    try:
        count = inflate_into(memoryview(data), memoryview(table))
    except BadFrame as error:
        raise _wrong_size(subject, size, str(error)) from None
    if count != size:
        raise _wrong_size(subject, size, f"it has {count}")
    return table


def _wrong_size(subject: str, size: int, why: str) -> ImageFault:
    return ImageFault(subject, "BadTable", f"its table of contents does not inflate to its {size} bytes: {why}")


def parse_toc(subject: str, table: bytes | bytearray, end: int) -> Toc:
    """Raises ImageFault for a table that is not in the format; `end` is where the layer's chunks must end."""
    # Each entry is an object, and may hold one more, for extended attributes.
    if table.count(b"{") > 2 * MOST_ENTRIES:
        raise ImageFault(subject, "BadTable", f"its table of contents has more than {MOST_ENTRIES} entries")
    try:
        decoded = msgspec.json.decode(table, type=_Table)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ImageFault(subject, "BadTable", f"its table of contents is not in the format: {error}") from error
    if decoded.version != 1:
        raise ImageFault(subject, "BadTable", f"its table of contents has version {decoded.version}; it must be 1")
    return Toc(subject, decoded.entries, end)
