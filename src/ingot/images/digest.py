"""Digests: what content is known by."""

import hashlib
import re
from typing import Self

from ingot.images.blob import Bytes
from ingot.images.fault import ImageFault

_LENGTHS = {"sha256": 64, "sha512": 128}
# What people publish beside files. Whoever can change a file can make another with the same md5 or sha1.
_PUBLISHED = {**_LENGTHS, "md5": 32, "sha1": 40}
_HEX = re.compile("[0-9a-f]+")


class Digest:
    """`algorithm` is sha256 or sha512, of a checksum also sha1 or md5; `hex` its value in lower case. It does not
    change.

    No dataclass: msgspec would write one as an object, and a digest in JSON is a text.
    """

    __slots__ = ("algorithm", "hex")

    def __init__(self, algorithm: str, hex: str) -> None:
        self.algorithm = algorithm
        self.hex = hex

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `sha256:…`. Raises ImageFault."""
        algorithm, _, value = text.partition(":")
        if len(value) != _LENGTHS.get(algorithm, -1) or not _HEX.fullmatch(value):
            raise ImageFault(
                text[:160], "BadDigest", "this is no digest: sha256: or sha512: and its hexadecimal digits are accepted"
            )
        return cls(algorithm, value)

    @classmethod
    def checksum(cls, text: str) -> Self:
        """Reads what was published beside a file, as `md5:…`; only to be compared with. Raises ImageFault."""
        algorithm, _, value = text.lower().partition(":")
        if len(value) != _PUBLISHED.get(algorithm, -1) or not _HEX.fullmatch(value):
            known = ", ".join(f"{name}:" for name in _PUBLISHED)
            message = f"this is no checksum: one of {known} and its hexadecimal digits are accepted"
            raise ImageFault(text[:160], "BadDigest", message)
        return cls(algorithm, value)

    @classmethod
    def of(cls, data: Bytes) -> Self:
        """The SHA-256 of these bytes."""
        return cls("sha256", hashlib.sha256(data).hexdigest())

    @property
    def raw(self) -> bytes:
        return bytes.fromhex(self.hex)

    def check(self, data: Bytes, subject: str) -> None:
        """Raises ImageFault where the bytes have another digest."""
        found = hashlib.new(self.algorithm, data).hexdigest()
        if found != self.hex:
            raise wrong_digest(subject, self, f"{self.algorithm}:{found}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Digest) and (self.algorithm, self.hex) == (other.algorithm, other.hex)

    def __hash__(self) -> int:
        return hash(self.hex)

    def __repr__(self) -> str:
        return f"Digest({self.algorithm!r}, {self.hex!r})"

    def __str__(self) -> str:
        return f"{self.algorithm}:{self.hex}"


def wrong_digest(subject: str, wanted: Digest, found: str) -> ImageFault:
    return ImageFault(subject, "WrongDigest", f"its content is {found}, and not {wanted}, which it should be")
