"""An ext2, ext3 or ext4 filesystem, read as far as is needed to find files in it.

It is read as it lies there: what only its journal has is not seen, and nothing is checked but what could mislead.
"""

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ingot.images.boot.noted import NotedDisk, Unreadable

_MAGIC = 0xEF53
_ROOT = 2
# A journal by itself, descriptors elsewhere, data in directories, data in inodes.
_UNKNOWN = 0x08 | 0x10 | 0x1000 | 0x8000
_WIDE = 0x80
_EXTENTS, _ENCRYPTED = 0x80000, 0x800
_EXTENT_MAGIC = 0xF30A
_DEEPEST = 5
# An extent that is longer was allocated, but never written.
_WRITTEN = 1 << 15
_DIRECTORY, _FILE, _LINK = 4, 8, 10
# The tables of these groups lie together at the front, with the inodes of what came to the disk first.
_FRONT_GROUPS = 16
_NO_INODES = 0x1
_MOST_LINKS = 16
# Larger ones are no program, and neither a directory nor a link that somebody uses.
_MOST_FILE, _MOST_DIRECTORY, _MOST_LINK = 128 << 20, 1 << 20, 4096


@dataclass(frozen=True, slots=True)
class Node:
    """A file, directory or link. `root` is what its inode has of its place: the root of a tree, or a short link."""

    kind: int
    size: int
    flags: int
    root: bytes

    @property
    def is_directory(self) -> bool:
        return self.kind == _DIRECTORY

    @property
    def is_file(self) -> bool:
        return self.kind == _FILE


class Ext:
    """The filesystem that begins at `start` of a disk. All methods raise Unreadable."""

    def __init__(self, disk: NotedDisk, start: int) -> None:
        self._disk = disk
        self._start = start
        head = disk.read(start + 1024, 1024)
        magic, incompatible = struct.unpack_from("<H", head, 56)[0], struct.unpack_from("<I", head, 96)[0]
        if magic != _MAGIC:
            raise Unreadable("no ext2, ext3 or ext4")
        count, scale, self._inodes = struct.unpack_from("<I20xI12xI", head)
        revision, inode = struct.unpack_from("<I8xH", head, 76)
        self._inode_size = inode if revision else 128
        self._descriptor = struct.unpack_from("<H", head, 254)[0] if incompatible & _WIDE else 32
        if incompatible & _UNKNOWN or scale > 6 or not self._inodes or self._inode_size < 128:
            raise Unreadable("an ext4 of a form that is not known")
        if self._descriptor < 32:
            raise Unreadable(f"descriptors of {self._descriptor} bytes")
        self._block = 1024 << scale
        self._groups = -(-count // self._inodes)
        self._journal = struct.unpack_from("<I", head, 224)[0]
        self.node = cache(self._node)
        self.names = cache(self._names)

    def find(self, path: str) -> Node | None:
        """What is at a path, through links; None for nothing."""
        parts = [part for part in reversed(path.split("/")) if part]
        above = [_ROOT]
        links = 0
        while parts:
            self._disk.charge(0, steps=1)
            part = parts.pop()
            if part == "..":
                above = above[:-1] or [_ROOT]
                continue
            number = self._inside(above[-1], part)
            if number is None:
                return None
            node = self.node(number)
            if node.kind == _LINK:
                links += 1
                if links > _MOST_LINKS:
                    return None
                target = self.read(node, _MOST_LINK).decode(errors="replace")
                above = [_ROOT] if target.startswith("/") else above
                parts += [part for part in reversed(target.split("/")) if part]
            else:
                above.append(number)
        return self.node(above[-1])

    def names_in(self, path: str) -> list[str]:
        """The names in a directory, sorted; none where there is no such directory."""
        node = self.find(path)
        return sorted(self.names(node)) if node is not None and node.is_directory else []

    def read(self, node: Node, most: int = _MOST_FILE) -> bytes:
        """All bytes of a file, directory or link, which are `most` at most."""
        if node.size > most or node.flags & _ENCRYPTED:
            raise Unreadable(f"{node.size} bytes of a file, or an encrypted one")
        if node.kind == _LINK and node.size < len(node.root):
            return node.root[: node.size]
        parts = list(self._parts(node))
        # What is read is charged when it is.
        self._disk.charge(max(node.size - sum(length for _, length, _ in parts), 0))
        data = bytearray(node.size)
        for at, length, block in parts:
            data[at : at + length] = self._read_blocks(block, length)
        return bytes(data)

    def visit(self, node: Node) -> None:
        """Takes note that a file is read, if there is still room for all of it."""
        parts = list(self._parts(node))
        if sum(length for _, length, _ in parts) > self._disk.left:
            raise Unreadable(f"{node.size} bytes of a file, which are too many")
        for _, length, block in parts:
            self._disk.note(self._start + block * self._block, length)

    def mount(self) -> None:
        """Takes note of what is read when it is mounted, checked, and looked up in: its tables as far as they are used,
        and the head of its journal."""
        for group in range(min(self._groups, _FRONT_GROUPS)):
            descriptor = self._describe(group)
            if not _half(descriptor, 18) & _NO_INODES:
                used = max(self._inodes - _half(descriptor, 28), 0)
                # Before the table of the first group are all its others.
                first = self._inode_table(descriptor) * self._block if group else 0
                end = self._inode_table(descriptor) * self._block + used * self._inode_size
                self._disk.note(self._start + first, max(end - first, 0))
        if self._journal:
            for _, _, block in itertools.islice(self._parts(self.node(self._journal)), 1):
                self._disk.note(self._start + block * self._block, self._block)

    def _parts(self, node: Node) -> Iterator[tuple[int, int, int]]:
        """Where the bytes of a file are: the first byte, how many, and the first block of the disk."""
        for first, count, block in self._runs(node):
            at = first * self._block
            length = min(count * self._block, node.size - at)
            if length > 0:
                yield at, length, block

    def _inside(self, directory: int, name: str) -> int | None:
        node = self.node(directory)
        return self.names(node).get(name) if node.is_directory else None

    def _node(self, number: int) -> Node:
        group, index = divmod(number - 1, self._inodes)
        if number < 1:
            raise Unreadable(f"an inode {number}")
        table = self._inode_table(self._describe(group)) * self._block
        inode = self._disk.read(self._start + table + index * self._inode_size, 128)
        mode, size = struct.unpack_from("<H2xI", inode)
        kind = mode >> 12
        if kind == _FILE:
            size |= struct.unpack_from("<I", inode, 108)[0] << 32
        return Node(kind, size, struct.unpack_from("<I", inode, 32)[0], inode[40:100])

    def _describe(self, group: int) -> bytes:
        # The descriptors follow the block with the superblock.
        table = self._block * (2 if self._block == 1024 else 1) + group * self._descriptor
        return self._disk.read(self._start + table, self._descriptor)

    def _inode_table(self, descriptor: bytes) -> int:
        """The block that it begins with."""
        low: int = struct.unpack_from("<I", descriptor, 8)[0]
        high: int = struct.unpack_from("<I", descriptor, 40)[0] if self._descriptor >= 64 else 0
        return low | high << 32

    def _names(self, node: Node) -> dict[str, int]:
        data = self.read(node, _MOST_DIRECTORY)
        found: dict[str, int] = {}
        at = 0
        while at + 8 <= len(data):
            number, length, name = struct.unpack_from("<IHB", data, at)
            self._disk.charge(0, steps=1)
            if length < 8 + name or length % 4:
                raise Unreadable("a directory that makes no sense")
            if number:
                found[data[at + 8 : at + 8 + name].decode(errors="replace")] = number
            at += length
        return found

    def _runs(self, node: Node) -> Iterator[tuple[int, int, int]]:
        """Where blocks of a file are: the first block of the file, how many, and the first block of the disk."""
        if node.flags & _EXTENTS:
            return self._extents(node.root, _DEEPEST)
        return self._mapped(struct.unpack("<15I", node.root), -(-node.size // self._block))

    def _extents(self, data: bytes, deepest: int) -> Iterator[tuple[int, int, int]]:
        magic, count, _, depth = struct.unpack_from("<4H", data)
        if magic != _EXTENT_MAGIC or depth > deepest or 12 * (count + 1) > len(data):
            raise Unreadable("a tree of extents that makes no sense")
        self._disk.charge(0, steps=count)
        for at in range(12, 12 * (count + 1), 12):
            if depth:
                low, high = struct.unpack_from("<4xIH", data, at)
                yield from self._extents(self._read_blocks(low | high << 32, self._block), depth - 1)
            else:
                first, length, high, low = struct.unpack_from("<IHHI", data, at)
                if length <= _WRITTEN:
                    yield first, length, low | high << 32

    def _mapped(self, pointers: tuple[int, ...], count: int) -> Iterator[tuple[int, int, int]]:
        """As ext2 and ext3 have it: twelve blocks, and three trees that are deeper each time."""
        for index, block in enumerate(pointers[: min(count, 12)]):
            if block:
                yield index, 1, block
        first = 12
        for depth, root in enumerate(pointers[12:], 1):
            yield from self._leaves(root, depth, first, count)
            first += (self._block // 4) ** depth

    def _leaves(self, block: int, depth: int, first: int, count: int) -> Iterator[tuple[int, int, int]]:
        """Those of a tree that begins with the block `first` of a file of `count`. What is not there is zeros."""
        if first >= count or not block:
            return
        if depth == 0:
            yield first, 1, block
            return
        below = (self._block // 4) ** (depth - 1)
        wanted = min(self._block // 4, -(-(count - first) // below))
        self._disk.charge(0, steps=wanted)
        for index, pointer in enumerate(struct.unpack_from(f"<{wanted}I", self._read_blocks(block, self._block))):
            yield from self._leaves(pointer, depth - 1, first + index * below, count)

    def _read_blocks(self, block: int, length: int) -> bytes:
        return self._disk.read(self._start + block * self._block, length)


def _half(descriptor: bytes, at: int) -> int:
    number: int = struct.unpack_from("<H", descriptor, at)[0]
    return number
