"""The header of a qcow2 image, and what in it we do not put before QEMU.

An image from a stranger may name a backing file or a data file, which QEMU would open on the node as its own.
"""

import struct
from dataclasses import dataclass
from typing import Self

HEAD = 512
_MAGIC = b"QFI\xfb"
# magic, version, backing file (offset, length), cluster bits, size, encryption, L1 (entries, offset), refcount table
# (offset, clusters), snapshots (number, offset).
_FIELDS = struct.Struct(">4sIQIIQIIQQIIQ")
_FEATURES = struct.Struct(">QQQII")
_DIRTY, _CORRUPT, _DATA_FILE, _COMPRESSION, _EXTENDED = (1 << bit for bit in range(5))
# QEMU's own bounds, but for the size, which is far above any disk that is.
_CLUSTER_BITS = range(9, 22)
_MOST_L1 = 32 << 20 >> 3
_MOST_SNAPSHOTS = 65536
MOST_BYTES = 1 << 50


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
    snapshots: int
    features: int

    @classmethod
    def parse(cls, head: bytes) -> Self:
        """Reads the first HEAD bytes of an image. Raises BadHeader."""
        if head[:4] != _MAGIC or len(head) < _FIELDS.size:
            raise BadHeader("is not a qcow2 image: correct its format, or put one there")
        _, version, backing, _, bits, size, encryption, l1, _, _, _, snapshots, _ = _FIELDS.unpack_from(head)
        features = 0
        if version >= 3:
            if len(head) < _FIELDS.size + _FEATURES.size:
                raise BadHeader("ends within its header")
            features = _FEATURES.unpack_from(head, _FIELDS.size)[0]
        return cls(version, backing != 0, bits, size, encryption, l1, snapshots, features)

    def check(self) -> None:
        """Raises BadHeader for an image that leads elsewhere or cannot be right."""
        flatten = "make it whole with `qemu-img convert -O qcow2`"
        if self.version not in (2, 3):
            raise BadHeader(f"is a qcow2 of version {self.version}; it must be 2 or 3")
        if self.backing:
            raise BadHeader(f"has a backing file, which could be any file of the node: {flatten}")
        if self.features & _DATA_FILE:
            raise BadHeader(f"has an external data file, which could be any file of the node: {flatten}")
        if self.encryption:
            raise BadHeader(f"is encrypted, and there is no key for it: {flatten}")
        if self.features & _CORRUPT:
            raise BadHeader("is marked as corrupt: mend it with `qemu-img check -r all`")
        if unknown := self.features & ~(_DIRTY | _COMPRESSION | _EXTENDED):
            raise BadHeader(f"needs features that are not known ({unknown:#x}): {flatten}")
        self._check_sizes()

    def _check_sizes(self) -> None:
        if self.cluster_bits not in _CLUSTER_BITS:
            raise BadHeader(f"has clusters of 2^{self.cluster_bits} bytes; it must be 2^9 to 2^21")
        if not 0 < self.size <= MOST_BYTES:
            raise BadHeader(f"has a virtual size of {self.size} bytes; it must be from 1 to {MOST_BYTES}")
        if self.l1_entries > _MOST_L1 or self.snapshots > _MOST_SNAPSHOTS:
            raise BadHeader("has tables that are too large to be true")
