"""Headers of tar archives: ustar, pax and GNU."""

from dataclasses import dataclass

BLOCK = 512
# Above any disk that is; a header may say 2^95.
MOST_BYTES = 1 << 50
_ZEROS = bytes(BLOCK)
REGULAR = b"0\x007"
DIRECTORY = b"5"
# Go's and Python's tar take these to have no body, whatever their size says.
_BODILESS = b"123456"
_SPARSE = b"GNU.sparse."
# The last second that all filesystems know.
_LATEST = (1 << 32) - 1


class BadTar(ValueError):
    """An archive that is not used: the message says what it has, to follow its name."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header: `kind` is its type flag, `size` the bytes of its body, `link` what a link leads to, `time` that of
    its last change in seconds since 1970."""

    name: bytes
    kind: bytes
    size: int
    link: bytes = b""
    mode: int = 0
    time: int = 0

    @property
    def regular(self) -> bool:
        return self.kind in REGULAR and not self.name.endswith(b"/")

    @property
    def directory(self) -> bool:
        """Old archives have directories as files whose names end in a slash."""
        return self.kind == DIRECTORY or (self.kind in REGULAR and self.name.endswith(b"/"))

    @property
    def shown(self) -> str:
        """Its name for people, whatever bytes that has."""
        return self.name.decode(errors="backslashreplace")


def parse(block: bytes) -> Header | None:
    """The header in a block; None for a block of zeros, which an archive ends with. Raises BadTar."""
    if block == _ZEROS:
        return None
    told = _number(block[148:156], "checksum")
    sums = sum(block[:148]) + sum(block[156:]) + 8 * 0x20
    if told != sums:
        raise BadTar("has a header whose checksum is wrong")
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and (prefix := _text(block[345:500])):
        name = prefix + b"/" + name
    kind = block[156:157]
    size = 0 if kind in _BODILESS else _number(block[124:136], "size")
    if size > MOST_BYTES:
        raise BadTar(f"has a file of {size} bytes; at most {MOST_BYTES} are taken")
    return Header(name, kind, size, _text(block[157:257]), _casual(block[100:108]), _casual(block[136:148]))


def _casual(field: bytes) -> int:
    """A number that little depends on: what cannot be one is 0."""
    try:
        return min(_number(field, ""), _LATEST)
    except BadTar:
        return 0


def is_header(block: bytes) -> bool:
    """Whether an archive begins with this block."""
    try:
        return block[257:262] == b"ustar" and len(block) == BLOCK and parse(block) is not None
    except BadTar:
        return False


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _number(field: bytes, what: str) -> int:
    """A number in octal digits, or in GNU's way for large ones: big-endian behind a bit."""
    if field[0] & 0x80:
        if field[0] & 0x40:
            raise BadTar(f"has a header with a {what} below zero")
        return int.from_bytes(field, "big") - (0x80 << 8 * (len(field) - 1))
    digits = _text(field).strip(b" ")
    if any(digit not in b"01234567" for digit in digits):
        raise BadTar(f"has a header with a {what} that is not a number")
    return int(digits or b"0", 8)


@dataclass(frozen=True, slots=True)
class Extended:
    """What a pax header says of the file that follows it; None where it says nothing."""

    path: bytes | None = None
    size: int | None = None
    link: bytes | None = None


def parse_pax(body: bytes) -> Extended:
    """Reads the records of a pax header, `LENGTH KEY=VALUE\\n`. Raises BadTar, also for a sparse file."""
    path: bytes | None = None
    size: int | None = None
    link: bytes | None = None
    while body:
        key, value, body = _record(body)
        if key.startswith(_SPARSE):
            raise BadTar("has a sparse file in it: make it with `tar` without --sparse")
        if key == b"path":
            path = value
        elif key == b"size":
            size = _decimal(value)
        elif key == b"linkpath":
            link = value
    return Extended(path, size, link)


def _record(body: bytes) -> tuple[bytes, bytes, bytes]:
    digits, space, _ = body[:20].partition(b" ")
    length = int(digits) if space and digits.isdigit() else 0
    record = body[len(digits) + 1 : length]
    key, equals, value = record.partition(b"=")
    if not equals or not value.endswith(b"\n") or length > len(body):
        raise BadTar("has a pax header with a record that is not right")
    return key, value[:-1], body[length:]


def _decimal(value: bytes) -> int:
    if not value.isdigit() or len(value) > 20 or int(value) > MOST_BYTES:
        raise BadTar(f"has a pax header with a size that is not right; at most {MOST_BYTES} are taken")
    return int(value)
