"""The header of a qcow2 image, and what in it is not used.

An image from a stranger may name a backing file or a data file, which QEMU would open on the node as its own.
"""

import struct
from dataclasses import dataclass
from typing import Self

from ingot.images.fault import ImageFault

HEAD = 512
SECTOR = 512
MAGIC = b"QFI\xfb"
# magic, version, backing file (offset, length), cluster bits, size, encryption, L1 (entries, offset), refcount table
# (offset, clusters), snapshots (number, offset).
FIELDS = struct.Struct(">4sIQIIQIIQQIIQ")
# incompatible, compatible and autoclear features, refcount order, length of the header.
FEATURES = struct.Struct(">QQQII")
_COMPRESSION_TYPE = FIELDS.size + FEATURES.size
_DIRTY, _CORRUPT, _DATA_FILE, _COMPRESSION, _EXTENDED = (1 << bit for bit in range(5))
# QEMU's own bounds, but for the size, which is far above any disk that is.
_CLUSTER_BITS = range(9, 22)
_LEAST_EXTENDED = 14
_MOST_L1 = 32 << 20 >> 3
_MOST_SNAPSHOTS = 65536
# Of ours: each takes about 100 bytes while an image is read. They map 512 TiB in clusters of 64 KiB, 32 GiB in those
# of 512 bytes.
_MOST_TABLES = 1 << 20
_MOST_REFCOUNT_ORDER = 6
MOST_BYTES = 1 << 50
ZLIB, ZSTD = 0, 1
_FLATTEN = "make it whole with `qemu-img convert -O qcow2`"
_DECRYPT = (
    "decrypt it with its key, by `qemu-img convert --object secret,id=key,file=KEYFILE --image-opts "
    "driver=qcow2,encrypt.key-secret=key,file.filename=IMAGE -O qcow2`"
)


class BadHeader(ValueError):
    """An image that is not used: the message says what it is or has, to follow its name."""


@dataclass(frozen=True, slots=True)
class Header:
    version: int
    backing: bool
    cluster_bits: int
    size: int
    encryption: int
    l1_entries: int
    l1_offset: int
    snapshots: int
    features: int
    refcount_order: int
    length: int
    compression: int

    @classmethod
    def parse(cls, head: bytes) -> Self:
        """Reads the first HEAD bytes of an image. Raises BadHeader."""
        if head[:4] != MAGIC or len(head) < FIELDS.size:
            raise BadHeader("is not a qcow2 image: correct its format, or put one there")
        _, version, backing, _, bits, size, encryption, l1, l1_offset, _, _, snapshots, _ = FIELDS.unpack_from(head)
        features, order, length, compression = 0, 4, FIELDS.size, ZLIB
        if version >= 3:
            if len(head) < _COMPRESSION_TYPE:
                raise BadHeader("ends within its header")
            features, _, _, order, length = FEATURES.unpack_from(head, FIELDS.size)
            if length > _COMPRESSION_TYPE and len(head) > _COMPRESSION_TYPE:
                compression = head[_COMPRESSION_TYPE]
        backed = backing != 0
        # QEMU counts whole sectors.
        size -= size % SECTOR
        return cls(
            version, backed, bits, size, encryption, l1, l1_offset, snapshots, features, order, length, compression
        )

    @property
    def cluster_size(self) -> int:
        return 1 << self.cluster_bits

    @property
    def extended(self) -> bool:
        """Whether an L2 entry has a second number, which says more of each 32nd of its cluster."""
        return bool(self.features & _EXTENDED)

    @property
    def l2_entries(self) -> int:
        """How many clusters one L2 table maps."""
        return 1 << self.cluster_bits - (4 if self.extended else 3)

    @property
    def l1_needed(self) -> int:
        """How many L2 tables the disk has; the L1 may have more entries, for the state of a machine."""
        return -(-self.size // (self.cluster_size * self.l2_entries))

    def check(self) -> None:
        """Raises BadHeader for an image that leads elsewhere or cannot be right."""
        if self.version not in (2, 3):
            raise BadHeader(f"is a qcow2 of version {self.version}; it must be 2 or 3")
        if self.backing:
            raise BadHeader(f"has a backing file, which could be any file of the node: {_FLATTEN}")
        if self.features & _DATA_FILE:
            raise BadHeader(f"has an external data file, which could be any file of the node: {_FLATTEN}")
        if self.encryption:
            raise BadHeader(f"is encrypted, and there is no key for it: {_DECRYPT}")
        if self.features & _CORRUPT:
            raise BadHeader("is marked as corrupt: mend it with `qemu-img check -r all`")
        if unknown := self.features & ~(_DIRTY | _COMPRESSION | _EXTENDED):
            raise BadHeader(f"needs features that are not known ({unknown:#x}): {_FLATTEN}")
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.cluster_bits not in _CLUSTER_BITS:
            raise BadHeader(f"has clusters of 2^{self.cluster_bits} bytes; it must be 2^9 to 2^21")
        if not 0 < self.size <= MOST_BYTES:
            raise BadHeader(f"has a virtual size of {self.size} bytes; it must be from 1 to {MOST_BYTES}")
        if self.l1_entries > _MOST_L1 or self.snapshots > _MOST_SNAPSHOTS:
            raise BadHeader("has tables that are too large to be true")

    def check_decodable(self) -> None:
        """Raises BadHeader for an image that `check` refuses, or that only QEMU can decode."""
        self.check()
        if self.extended and self.cluster_bits < _LEAST_EXTENDED:
            raise BadHeader(
                f"has extended L2 entries for clusters of 2^{self.cluster_bits} bytes; it must be 2^14 or more"
            )
        if self.compression not in (ZLIB, ZSTD):
            raise BadHeader(f"is compressed by a method that is not known ({self.compression}): {_FLATTEN}")
        if (self.compression != ZLIB) != bool(self.features & _COMPRESSION):
            raise BadHeader("says two things about its method of compression: it is broken")
        if self.version == 3 and not _COMPRESSION_TYPE <= self.length <= self.cluster_size:
            raise BadHeader(f"has a header of {self.length} bytes; it must be from {_COMPRESSION_TYPE} to one cluster")
        if self.refcount_order > _MOST_REFCOUNT_ORDER:
            raise BadHeader(f"has reference counts of 2^{self.refcount_order} bits; it must be at most 2^6")
        if self.l1_entries < self.l1_needed:
            raise BadHeader(f"has an L1 table of {self.l1_entries} entries; its size needs {self.l1_needed}")
        if self.l1_needed > _MOST_TABLES:
            raise BadHeader(
                f"has {self.l1_needed} L2 tables; at most {_MOST_TABLES} are read: make its clusters larger"
            )
        if self.l1_offset % self.cluster_size or self.l1_offset == 0:
            raise BadHeader(f"has its L1 table at byte {self.l1_offset}, which is not the start of a cluster")


def virtual_size(head: bytes, subject: str) -> int:
    """The size of the disk in an image that begins with `head`. Raises ImageFault for one that cannot be used."""
    try:
        header = Header.parse(head[:HEAD])
        header.check()
    except BadHeader as error:
        raise ImageFault(subject, "BadQcow2", f"its disk {error}") from None
    return header.size
