"""Files of checksums, as they are published beside images: `SHA256SUMS` of GNU and of BSD, or a digest alone."""

import re

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault

MOST_BYTES = 1 << 20
_GNU = re.compile(r"\\?([0-9a-fA-F]{32,128})[ \t]+\*?(.+)")
_BSD = re.compile(r"(MD5|SHA1|SHA256|SHA512)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-fA-F]{32,128})")
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}


def checksum_of(text: str, name: str, subject: str) -> Digest:
    """What the file `text` says of the file of that name, the strongest if several. Raises ImageFault."""
    lines = [line.strip() for line in text.splitlines()]
    found = [digest for line in lines if (digest := _of_line(line, name))]
    alone = [line for line in lines if line and not line.startswith("#")]
    if not found and len(alone) == 1 and len(alone[0]) in _ALGORITHMS:
        found = [digest for digest in [_digest(alone[0])] if digest]
    if not found:
        message = f"it has no checksum of {name!r}: a line `HEX  {name}` or `SHA256 ({name}) = HEX` is expected"
        raise ImageFault(subject, "NoChecksum", message)
    return max(found, key=lambda digest: len(digest.hex))


def _of_line(line: str, name: str) -> Digest | None:
    if match := _BSD.fullmatch(line):
        value, file = match[3], match[2]
    elif match := _GNU.fullmatch(line):
        value, file = match[1], match[2]
    else:
        return None
    return _digest(value) if file.rpartition("/")[2] == name else None


def _digest(value: str) -> Digest | None:
    algorithm = _ALGORITHMS.get(len(value))
    try:
        return Digest.checksum(f"{algorithm}:{value}") if algorithm else None
    except ImageFault:
        return None
