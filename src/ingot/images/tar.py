"""The disk in a tar that arrives piece by piece: a container disk's layer, or an archive with one file.

Nothing is ever unpacked to a name of the archive. The disk is the one regular file in `disk/`, as KubeVirt has it, or
the file `disk` itself, which `ADD x.qcow2 /disk` makes where there is no such directory. In an archive that is no layer
it may also be the one regular file, whatever its name.
"""

from collections.abc import Iterator
from typing import Self

import msgspec

from ingot.images import tar_header
from ingot.images.fault import ImageFault
from ingot.images.seal import decode_record
from ingot.images.tar_header import BLOCK, DIRECTORY, BadTar, Extended, Header

# A pax header holds the file's extended attributes, of which Linux takes 64 KiB each.
_MOST_EXTENSION = 1 << 20
# Headers that only say something of the file that follows.
_MOST_EXTENSIONS = 16
_MOST_ENTRIES = 1_000_000
_MOST_NAME = 4096
# A file of this name in a layer hides the rest of the name, in the layers below.
_WHITEOUT = b".wh."
_MOST_HIDING = 1000
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL, _SPARSE, _VOLUME = b"L", b"K", b"x", b"g", b"S", b"M"
_LINKS = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


class Member(msgspec.Struct, frozen=True):
    """The disk: `size` bytes from `start` of the archive on. `name` is without a leading `./` or `/`."""

    name: str
    start: int
    size: int


class _State(msgspec.Struct):
    """Where in the archive we are. `skip` is what goes by unread; `give` what goes to the reader; `block` what has been
    collected of `wanted` bytes, to be taken as `taking`."""

    position: int = 0
    give: int = 0
    skip: int = 0
    wanted: int = BLOCK
    block: bytearray = msgspec.field(default_factory=bytearray)
    taking: bytes = b""
    padding: int = 0
    extensions: int = 0
    entries: int = 0
    path: bytes | None = None
    size: int | None = None
    zeros: int = 0
    hiding: tuple[str, ...] = ()
    member: Member | None = None


class TarReader:
    """Finds the disk in an archive that is fed to it, and gives its bytes. For one thread at a time."""

    def __init__(self, subject: str, limit: int = tar_header.MOST_BYTES, layer: bool = True) -> None:
        """A disk of more than `limit` bytes is refused. Without `layer` it may be anywhere in the archive."""
        self._subject = subject
        self._limit = limit
        self._layer = layer
        self._state = _State()

    @property
    def member(self) -> Member | None:
        """The disk, as soon as its header has been read."""
        return self._state.member

    @property
    def hiding(self) -> tuple[str, ...]:
        """Names so far that hide something of the layers below: whiteouts in the root and in disk/, and directories
        where a disk may be, which end in a slash. At most a thousand."""
        return self._state.hiding

    def feed(self, data: memoryview) -> Iterator[memoryview]:
        """Takes the next bytes of the archive, and gives those of the disk among them, in the same memory.

        Raises ImageFault: BadTar, TooLarge, or TwoDisks.
        """
        at = self._state
        while len(data):
            if at.zeros >= 2:
                taken = len(data)
            elif at.give:
                taken = min(at.give, len(data))
                at.give -= taken
                yield data[:taken]
            elif at.skip:
                taken = min(at.skip, len(data))
                at.skip -= taken
            else:
                taken = min(at.wanted - len(at.block), len(data))
                at.block += data[:taken]
            at.position += taken
            data = data[taken:]
            if len(at.block) == at.wanted:
                self._collected()

    def _collected(self) -> None:
        """A header, or the body of one that says something of the next, is whole."""
        at = self._state
        block, taking = bytes(at.block), at.taking
        at.block, at.taking, at.wanted = bytearray(), b"", BLOCK
        try:
            if taking:
                self._extend(taking, block)
            elif header := tar_header.parse(block):
                self._begin(header)
            else:
                at.zeros += 1
        except BadTar as error:
            raise ImageFault(self._subject, "BadTar", f"it {error}") from None

    def _extend(self, kind: bytes, body: bytes) -> None:
        at = self._state
        at.skip = at.padding
        if kind == _LONG_NAME:
            at.path = body.partition(b"\0")[0]
        elif kind == _PAX:
            extended = tar_header.parse_pax(body)
            at.path = at.path if extended.path is None else extended.path
            at.size = at.size if extended.size is None else extended.size
        elif kind == _PAX_GLOBAL and tar_header.parse_pax(body) != Extended():
            raise BadTar("has a global pax header with a name or a size for all files")

    def _begin(self, header: Header) -> None:
        at = self._state
        if at.zeros:
            raise BadTar("goes on behind the block of zeros that should end it")
        if header.kind in (_SPARSE, _VOLUME):
            raise BadTar("has a sparse or divided file in it: make it with `tar` without --sparse and -M")
        if header.kind in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL):
            self._begin_extension(header)
            return
        at.entries += 1
        if at.entries > _MOST_ENTRIES:
            raise BadTar(f"has more than {_MOST_ENTRIES} files in it")
        size = header.size if at.size is None or not _has_body(header) else at.size
        self._enter(Header(header.name if at.path is None else at.path, header.kind, size))
        at.path, at.size, at.extensions = None, None, 0

    def _begin_extension(self, header: Header) -> None:
        at = self._state
        at.extensions += 1
        if at.extensions > _MOST_EXTENSIONS:
            raise BadTar(f"has more than {_MOST_EXTENSIONS} extended headers for one file")
        if not 0 < header.size <= _MOST_EXTENSION:
            raise BadTar(f"has an extended header of {header.size} bytes; at most {_MOST_EXTENSION} are taken")
        at.wanted, at.taking, at.padding = header.size, header.kind, -header.size % BLOCK

    def _enter(self, header: Header) -> None:
        """Decides what becomes of a file."""
        at = self._state
        at.skip = header.size + -header.size % BLOCK
        parts = _parts(header)
        if parts[:-1] in ([], [b"disk"]) and parts and parts[-1].startswith(_WHITEOUT):
            self._hide(b"/".join(parts))
            return
        if parts[:1] == [b"disk"] and (link := _LINKS.get(header.kind)):
            raise BadTar(f"has {link} at {header.shown}, where only a disk may be")
        if self._layer and header.directory and parts[:1] == [b"disk"] and len(parts) <= 2:
            self._hide(b"/".join(parts) + b"/")
        if not header.regular or not self._may_be_disk(parts):
            return
        name = b"/".join(parts).decode(errors="backslashreplace")
        if at.member:
            message = f"it has two disks, {at.member.name} and {name}: leave one"
            raise ImageFault(self._subject, "TwoDisks", message)
        if header.size > self._limit:
            message = f"its disk {name} has {header.size} bytes, and there is room for {self._limit}"
            raise ImageFault(self._subject, "TooLarge", message)
        at.member = Member(name, at.position, header.size)
        at.give, at.skip = header.size, -header.size % BLOCK

    def _may_be_disk(self, parts: list[bytes]) -> bool:
        if parts[:1] == [b"disk"] and len(parts) <= 2:
            return True
        found = self._state.member
        # Beside the disk of a layer there may be other files.
        return not self._layer and len(parts) > 0 and not (found and f"{found.name}/".startswith("disk/"))

    def _hide(self, name: bytes) -> None:
        at = self._state
        if len(at.hiding) == _MOST_HIDING:
            raise BadTar(f"has more than {_MOST_HIDING} whiteouts and directories in disk/")
        at.hiding = (*at.hiding, name.decode(errors="backslashreplace"))

    def finish(self) -> None:
        """Call it at the archive's end. Raises ImageFault: Truncated, or NoDisk."""
        at = self._state
        if at.give or at.skip or at.block or at.taking or at.extensions:
            raise ImageFault(self._subject, "Truncated", f"its tar ends at byte {at.position}, within a file")
        if at.member is None:
            where = " in disk/, as a container disk has" if self._layer else " in it"
            raise ImageFault(self._subject, "NoDisk", f"it has no regular file{where}")

    def state(self) -> bytes:
        """All that is needed to go on, for `from_state`. Not while `feed` is under way."""
        return msgspec.msgpack.encode(self._state)

    @classmethod
    def from_state(cls, state: bytes, subject: str, limit: int = tar_header.MOST_BYTES, layer: bool = True) -> Self:
        """Goes on where the state was taken. Raises ImageFault Damaged."""
        reader = cls(subject, limit, layer)
        reader._state = decode_record(state, _State, f"state of the tar in {subject}")
        return reader


def _has_body(header: Header) -> bool:
    return header.kind not in _LINKS and header.kind != DIRECTORY


def _parts(header: Header) -> list[bytes]:
    """The name in parts, without what says nothing. A name from the root on is one in the archive, as all tools have
    it. Raises BadTar for one that leads elsewhere."""
    if len(header.name) > _MOST_NAME:
        raise BadTar(f"has a file with a name of {len(header.name)} bytes; at most {_MOST_NAME} are taken")
    if b"\0" in header.name:
        raise BadTar("has a file with a NUL in its name")
    parts = [part for part in header.name.split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise BadTar(f"has a file named {header.shown}, which leads elsewhere")
    return parts
