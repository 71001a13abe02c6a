"""Feeds archives to the unpacker, whole and in pieces: both make the same tree, and nothing of it leads out."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from fuzz.fuzz_tar import mended
from ingot.images.archive.reader import ArchiveReader
from ingot.images.archive.tree import Tree
from ingot.images.fault import ImageFault
from ingot.images.tar_header import BLOCK

_LIMIT = 1 << 20


def one_input(data: bytes) -> None:
    archive = b"".join(mended(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK))
    for whole in (data, archive):
        assert _unpack(whole, len(whole) or 1) == _unpack(whole, 97)


def _unpack(data: bytes, size: int) -> tuple[list[str], str]:
    """The names that are there afterwards, and why there are no more."""
    outer = Path(tempfile.mkdtemp(prefix="ingot-fuzz-"))
    try:
        (outer / "tree").mkdir()
        why = _feed(data, size, outer / "tree")
        assert [each.name for each in outer.iterdir()] == ["tree"]
        return _names(outer / "tree"), why
    finally:
        shutil.rmtree(outer)


def _feed(data: bytes, size: int, top: Path) -> str:
    descriptor = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    with Tree(descriptor) as tree, contextlib.closing(ArchiveReader("fuzz", tree, _LIMIT)) as reader:
        try:
            for start in range(0, len(data), size):
                reader.feed(memoryview(data)[start : start + size])
            reader.finish()
        except (ImageFault, OSError) as error:
            return type(error).__name__
        finally:
            os.close(descriptor)
    return ""


def _names(top: Path) -> list[str]:
    found = sorted(top.rglob("*"))
    for path in found:
        if path.is_symlink():
            with contextlib.suppress(OSError, RuntimeError):
                assert path.resolve().is_relative_to(top.resolve()), path
    return [str(path.relative_to(top)) for path in found]
