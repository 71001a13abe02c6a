"""Where the decoding of a qcow2 that arrives was, for a later process to go on."""

import zlib
from array import array
from pathlib import Path
from typing import Self

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.qcow2.spool import Spool

_VERSION = 1


class Checkpoint(msgspec.Struct, array_like=True, frozen=True):
    """Bytes up to `position` were fed, those before `done` dealt with, those from `base` on are kept in the spool.

    `ranges` are what else the spool has; `deferred` the L2 tables that are left for the end.
    """

    version: int
    position: int
    done: int
    base: int
    ranges: bytes
    deferred: list[int]

    @classmethod
    def of(cls, position: int, done: int, base: int, spool: Spool, deferred: set[int]) -> Self:
        ranges = zlib.compress((spool.starts + spool.ends).tobytes(), 1)
        return cls(_VERSION, position, done, base, ranges, sorted(deferred))

    @classmethod
    def decode(cls, data: bytes, subject: str) -> Self:
        """Raises ImageFault BadCheckpoint."""
        try:
            told = msgspec.msgpack.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise bad_checkpoint(subject, str(error)) from None
        if told.version != _VERSION or not 0 <= told.base <= told.done <= told.position:
            raise bad_checkpoint(subject, "it was written by another version")
        return told

    def encode(self) -> bytes:
        return msgspec.msgpack.encode(self)

    def spool(self, path: Path, subject: str) -> Spool:
        """The spool as it was. Raises ImageFault BadCheckpoint when it is gone."""
        try:
            ranges = array("Q", zlib.decompress(self.ranges))
            half = len(ranges) // 2
            return Spool.reopen(path, ranges[:half], ranges[half:])
        except (zlib.error, ValueError, OSError) as error:
            raise bad_checkpoint(subject, str(error)) from None


def bad_checkpoint(subject: str, why: str) -> ImageFault:
    return ImageFault(subject, "BadCheckpoint", f"the import cannot go on where it was ({why}): begin again", True)
