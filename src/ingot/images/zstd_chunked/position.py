"""Where the table of contents of a zstd:chunked layer is: in the layer's annotations, and in the footer of its blob.

Only the annotations are trusted, because the manifest's digest covers them; the footer is there for other tools.
"""

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from ingot.images.fault import ImageFault

CHECKSUM = "io.github.containers.zstd-chunked.manifest-checksum"
POSITION = "io.github.containers.zstd-chunked.manifest-position"
# What buildah and podman wrote before version 4.4 of the latter.
_OLD_CHECKSUM = "io.containers.zstd-chunked.manifest-checksum"
_OLD_POSITION = "io.containers.zstd-chunked.manifest-position"

# The kind of table that the format knows.
_KIND = 1
_MAGIC = b"GNUlInUx"
# Table: start, length, inflated size, kind; then the same of the tar-split data, which we neither write nor need.
_FOOTER = struct.Struct("<QQQQQQQ8s")
_SKIPPABLE = struct.Struct("<4sI")
SKIPPABLE_MAGIC = b"\x50\x2a\x4d\x18"
FOOTER_SIZE = _SKIPPABLE.size + _FOOTER.size

_POSITION = re.compile(r"(\d{1,19}):(\d{1,19}):(\d{1,19}):(\d{1,19})", re.ASCII)
_CHECKSUM = re.compile(r"sha256:([0-9a-f]{64})", re.ASCII)
# A table of 50 GiB in chunks of 64 KiB. Other tools refuse tables beyond it too.
MOST_TABLE = 150 << 20


@dataclass(frozen=True, slots=True)
class Position:
    """The table is `length` bytes from `start` of the blob on, which inflate to `size` bytes."""

    start: int
    length: int
    size: int

    @classmethod
    def from_annotations(cls, subject: str, annotations: Mapping[str, str], blob_size: int) -> "tuple[Self, bytes]":
        """The position, and the SHA-256 of the table as it is in the blob. Raises ImageFault."""
        where = _POSITION.fullmatch(annotations.get(POSITION) or annotations.get(_OLD_POSITION, ""))
        checksum = _CHECKSUM.fullmatch(annotations.get(CHECKSUM) or annotations.get(_OLD_CHECKSUM, ""))
        if where is None or int(where[4]) != _KIND:
            raise _fault(subject, f"its annotation {POSITION} must be START:LENGTH:SIZE:1")
        if checksum is None:
            raise _fault(subject, f"its annotation {CHECKSUM} must be sha256: and 64 hexadecimal digits")
        position = cls(int(where[1]), int(where[2]), int(where[3]))
        position.check(subject, blob_size)
        return position, bytes.fromhex(checksum[1])

    @classmethod
    def from_footer(cls, subject: str, footer: bytes, blob_size: int) -> Self:
        """From the last FOOTER_SIZE bytes of the blob. Raises ImageFault."""
        if len(footer) != FOOTER_SIZE or _SKIPPABLE.unpack_from(footer) != (SKIPPABLE_MAGIC, _FOOTER.size):
            raise _fault(subject, "it does not end with the footer of a zstd:chunked layer")
        start, length, size, kind, _, _, _, magic = _FOOTER.unpack_from(footer, _SKIPPABLE.size)
        if magic != _MAGIC or kind != _KIND:
            raise _fault(subject, "it does not end with the footer of a zstd:chunked layer")
        position = cls(start, length, size)
        position.check(subject, blob_size)
        return position

    def check(self, subject: str, blob_size: int) -> None:
        """Raises ImageFault for a table that is not within the blob or too large."""
        if not 0 < self.length <= MOST_TABLE or not 0 < self.size <= MOST_TABLE:
            raise _fault(
                subject, f"its table of {self.length} bytes ({self.size} inflated) must be of 1 to {MOST_TABLE}"
            )
        if self.start + self.length > blob_size:
            raise _fault(subject, f"its table ends at byte {self.start + self.length}, behind the blob's {blob_size}")

    def annotations(self, checksum: str) -> dict[str, str]:
        """What the layer's descriptor says. `checksum` is `sha256:…` of the table as it is in the blob."""
        return {CHECKSUM: checksum, POSITION: f"{self.start}:{self.length}:{self.size}:{_KIND}"}

    def footer(self) -> bytes:
        return skippable(_FOOTER.pack(self.start, self.length, self.size, _KIND, 0, 0, 0, _MAGIC))


def is_chunked(annotations: Mapping[str, str]) -> bool:
    """Whether a layer with these annotations says that it is in zstd:chunked form."""
    new, old = (CHECKSUM, POSITION), (_OLD_CHECKSUM, _OLD_POSITION)
    return any(all(name in annotations for name in names) for names in (new, old))


def skippable(data: bytes) -> bytes:
    """As a frame that decompressors pass over."""
    return _SKIPPABLE.pack(SKIPPABLE_MAGIC, len(data)) + data


def _fault(subject: str, message: str) -> ImageFault:
    return ImageFault(subject, "BadTable", message)
