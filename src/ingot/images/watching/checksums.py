"""Files of checksums, as they are published beside images: `SHA256SUMS` of GNU and of BSD, or a digest alone."""

import re
from collections.abc import Iterator
from itertools import takewhile

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault

MOST_BYTES = 1 << 20
_GNU = re.compile(r"\\?([0-9a-fA-F]{32,128})[ \t]+\*?(.+)")
_BSD = re.compile(r"(MD5|SHA1|SHA256|SHA512)[ \t]*\((.+)\)[ \t]*=[ \t]*([0-9a-fA-F]{32,128})")
# Whether a line's path is the end of the one that is looked for, or all of it; and how many parts of both are alike.
_Likeness = tuple[bool, int]
# Of a file that has not even the name.
_UNLIKE: _Likeness = (False, 0)
_ALGORITHMS = {32: "md5", 40: "sha1", 64: "sha256", 128: "sha512"}


def checksum_of(text: str, path: str, subject: str) -> Digest:
    """What the file `text` says of the file that has that path on its server, the strongest if several. Of files of one
    name in several directories it is the one whose path has most of that at its end. Raises ImageFault."""
    lines = [line.strip() for line in text.splitlines()]
    named = [(_likeness(file, path), digest) for line in lines for file, digest in _of_line(line)]
    found = _closest([each for each in named if each[0] > _UNLIKE])
    alone = [line for line in lines if line and not line.startswith("#")]
    if not found and len(alone) == 1 and len(alone[0]) in _ALGORITHMS:
        found = [digest for digest in [_digest(alone[0])] if digest]
    return _strongest(found, path, subject)


def _closest(named: list[tuple[_Likeness, Digest]]) -> list[Digest]:
    """Of each algorithm those that are most like the path; of lines with the whole path, or its end, all algorithms."""
    best = max((likeness for likeness, _ in named), default=_UNLIKE)
    own: dict[int, _Likeness] = {}
    for likeness, digest in named:
        own[len(digest.hex)] = max(own.get(len(digest.hex), _UNLIKE), likeness)
    return [
        digest
        for likeness, digest in named
        if likeness == own[len(digest.hex)] and (likeness == best or (likeness[0] and best[0]))
    ]


def _strongest(found: list[Digest], path: str, subject: str) -> Digest:
    name = path.rpartition("/")[2]
    strength = max((len(digest.hex) for digest in found), default=0)
    chosen = {str(digest): digest for digest in found if len(digest.hex) == strength}
    if not chosen:
        message = f"it has no checksum of {name!r}: a line `HEX  {name}` or `SHA256 ({name}) = HEX` is expected"
        raise ImageFault(subject, "NoChecksum", message)
    if len(chosen) > 1:
        what = f"it has {len(chosen)} different checksums of {name!r}, and no line is more like {path!r} than others"
        raise ImageFault(subject, "AmbiguousChecksum", f"{what}: name a file of checksums with one line of it")
    return chosen.popitem()[1]


def _likeness(file: str, path: str) -> _Likeness:
    """How much of a path another has at its end, greatest where that is all of it."""
    parts = [part for part in file.split("/") if part not in ("", ".")]
    pairs = zip(reversed(parts), reversed(path.split("/")), strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return alike == len(parts) > 0, alike


def _of_line(line: str) -> Iterator[tuple[str, Digest]]:
    """The file that a line names, and its checksum."""
    if match := _BSD.fullmatch(line):
        value, file = match[3], match[2]
    elif match := _GNU.fullmatch(line):
        value, file = match[1], match[2]
    else:
        return
    if digest := _digest(value):
        yield file, digest


def _digest(value: str) -> Digest | None:
    algorithm = _ALGORITHMS.get(len(value))
    try:
        return Digest.checksum(f"{algorithm}:{value}") if algorithm else None
    except ImageFault:
        return None
