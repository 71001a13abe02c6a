"""A tar that arrives piece by piece, put into a tree as it comes."""

from dataclasses import dataclass

from ingot.images import tar_header
from ingot.images.archive.tree import Tree, TreeFile
from ingot.images.fault import ImageFault
from ingot.images.tar_header import BLOCK, BadTar, Extended, Header

_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_EXTENSIONS = (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL)
_HARD, _SYMBOLIC, _DIRECTORY = b"1", b"2", b"5"
_REFUSED = {
    b"3": "a device",
    b"4": "a device",
    b"6": "a pipe",
    b"S": "a sparse file: make it with `tar` without --sparse",
    b"M": "a divided file: make it with `tar` without -M",
}
_MOST_EXTENSION = 1 << 20
_MOST_EXTENSIONS = 16
_MOST_ENTRIES = 1_000_000
_MOST_NAME = 4096
_MOST_LEVELS = 64
# What the smallest file takes of a disk, and every directory and link too.
_LEAST = 4096


@dataclass(slots=True)
class _Body:
    """What is collected before it is used: a header, or what extended ones say of the next."""

    wanted: int = BLOCK
    kind: bytes = b""


class ArchiveReader:
    """Unpacks what is fed to it. For one thread at a time. Raises ImageFault, and OSError of the tree."""

    def __init__(self, subject: str, tree: Tree, limit: int) -> None:
        """What needs more than `limit` bytes of a disk is refused, be it files or only directories and links."""
        self._subject = subject
        self._tree = tree
        self._limit = limit
        self._block = bytearray()
        self._taking = _Body()
        self._file: TreeFile | None = None
        self._left = self._skip = 0
        self._extended = Extended()
        self._extensions = self._entries = self._zeros = 0
        self._needed = 0
        self.size = 0

    def feed(self, data: memoryview) -> None:
        while len(data):
            data = data[self._take(data) :]

    def _take(self, data: memoryview) -> int:
        """Uses some of the bytes; how many."""
        if self._zeros >= 2:
            return len(data)
        if self._file is not None:
            taken = min(self._left, len(data))
            self._file.write(data[:taken])
            self._left -= taken
            if not self._left:
                self._end_file()
            return taken
        if self._skip:
            taken = min(self._skip, len(data))
            self._skip -= taken
            return taken
        taken = min(self._taking.wanted - len(self._block), len(data))
        self._block += data[:taken]
        if len(self._block) == self._taking.wanted:
            self._collected()
        return taken

    def finish(self) -> None:
        """The archive has ended. Raises ImageFault Truncated where it has not, and NotTar where it was none."""
        if self._file or self._skip or self._block or self._taking.kind or self._extensions:
            raise ImageFault(self._subject, "Truncated", "its tar ends within a file")
        if not self._entries and self._zeros < 2:
            raise ImageFault(self._subject, "NotTar", "it is no tar archive, which contentType archive asks for")
        self._tree.finish()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _collected(self) -> None:
        block, body = bytes(self._block), self._taking
        self._block, self._taking = bytearray(), _Body()
        try:
            if body.kind:
                self._extend(body.kind, block)
            elif header := tar_header.parse(block):
                self._begin(header)
            else:
                self._zeros += 1
        except BadTar as error:
            if not self._entries and not self._extensions and not body.kind:
                message = "it is no tar archive, which contentType archive asks for"
                raise ImageFault(self._subject, "NotTar", message) from None
            raise ImageFault(self._subject, "BadTar", f"it {error}") from None

    def _extend(self, kind: bytes, body: bytes) -> None:
        known = self._extended
        if kind == _LONG_NAME:
            self._extended = Extended(body.partition(b"\0")[0], known.size, known.link)
        elif kind == _LONG_LINK:
            self._extended = Extended(known.path, known.size, body.partition(b"\0")[0])
        elif kind == _PAX:
            more = tar_header.parse_pax(body)
            self._extended = Extended(
                known.path if more.path is None else more.path,
                known.size if more.size is None else more.size,
                known.link if more.link is None else more.link,
            )
        elif tar_header.parse_pax(body) != Extended():
            raise BadTar("has a global pax header with a name or a size for all files")
        self._skip = -len(body) % BLOCK

    def _begin(self, header: Header) -> None:
        if self._zeros:
            raise BadTar("goes on behind the block of zeros that should end it")
        if header.kind in _EXTENSIONS:
            self._begin_extension(header)
            return
        self._entries += 1
        if self._entries > _MOST_ENTRIES:
            raise BadTar(f"has more than {_MOST_ENTRIES} files in it")
        more, self._extended, self._extensions = self._extended, Extended(), 0
        name = header.name if more.path is None else more.path
        link = header.link if more.link is None else more.link
        size = header.size if more.size is None or header.kind in b"12345" else more.size
        self._enter(Header(name, header.kind, size, link, header.mode, header.time))

    def _begin_extension(self, header: Header) -> None:
        self._extensions += 1
        if self._extensions > _MOST_EXTENSIONS:
            raise BadTar(f"has more than {_MOST_EXTENSIONS} extended headers for one file")
        if not 0 < header.size <= _MOST_EXTENSION:
            raise BadTar(f"has an extended header of {header.size} bytes; at most {_MOST_EXTENSION} are taken")
        self._taking = _Body(header.size, header.kind)

    def _enter(self, header: Header) -> None:
        """Makes one file, directory or link."""
        parts = _parts(header.name)
        if header.kind in _REFUSED:
            raise BadTar(f"has {_REFUSED[header.kind]}, at {header.shown}")
        if not parts:
            # The top itself.
            self._skip = header.size + -header.size % BLOCK
        elif header.kind == _SYMBOLIC:
            self._tree.symlink(parts, header.link)
        elif header.kind == _HARD:
            self._tree.link(parts, _parts(header.link) or parts)
        elif header.kind == _DIRECTORY or (header.kind in tar_header.REGULAR and header.name.endswith(b"/")):
            self._tree.directory(parts, header.mode, header.time)
        elif header.regular:
            self._begin_file(parts, header)
        else:
            raise BadTar(f"has {header.shown} of an unknown kind, {header.kind!r}")
        self._check_room()

    def _begin_file(self, parts: list[bytes], header: Header) -> None:
        self.size += header.size
        self._needed += max(header.size, _LEAST)
        self._check_room()
        self._file = self._tree.file(parts, header.mode, header.time)
        self._left, self._skip = header.size, -header.size % BLOCK
        if not header.size:
            self._end_file()

    def _check_room(self) -> None:
        needed = self._needed + self._tree.made * _LEAST
        if needed > self._limit:
            message = f"its files need {needed} bytes or more, each {_LEAST} at least, as do directories and links"
            raise ImageFault(self._subject, "TooLarge", f"{message}; there is room for {self._limit}")

    def _end_file(self) -> None:
        assert self._file is not None
        self._file.finish()
        self.close()


def _parts(name: bytes) -> list[bytes]:
    """A name in parts, without what says nothing; one from the root on is one in the tree, as all tools have it."""
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if b".." in parts or b"\0" in name or len(name) > _MOST_NAME:
        raise BadTar(f"has a file named {name[:200].decode(errors='backslashreplace')}, which leads elsewhere")
    if len(parts) > _MOST_LEVELS:
        raise BadTar(f"has a file {len(parts)} levels deep; at most {_MOST_LEVELS} are taken")
    return parts
