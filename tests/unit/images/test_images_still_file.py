"""Files that must stay as they are while they are read, beside QEMU."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ingot.images.blob import FileBlob
from ingot.images.content import FileContent
from ingot.images.fault import ImageFault
from ingot.images.pipeline.importer import import_image
from ingot.images.pipeline.options import ImportOptions
from ingot.images.pipeline.source import Source
from ingot.images.still_file import StillFile
from unit.images.qemu_io import open_in_qemu


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "1M"], check=True)
    return path


def test_what_qemu_may_write_is_refused(image: Path, tmp_path: Path) -> None:
    with open_in_qemu(image):
        with pytest.raises(ImageFault, match="may write it") as caught:
            StillFile(image)
        with pytest.raises(ImageFault, match="may write it"):
            import_image(Source.parse(str(image)), tmp_path / "disk", ImportOptions(), lambda done, whole: None)
    assert caught.value.reason == "InUse"
    assert not (tmp_path / "disk").exists()
    StillFile(image).check()


def test_what_qemu_only_reads_is_taken(image: Path) -> None:
    with open_in_qemu(image, "-r"):
        StillFile(image).check()


def read(path: Path) -> None:
    import_image(Source.parse(str(path)), path.with_name("disk"), ImportOptions(), lambda done, whole: None)


@pytest.mark.parametrize("opened", [StillFile, FileBlob, FileContent, read])
def test_a_pipe_is_not_waited_for(tmp_path: Path, opened: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    # With somebody at its other end nobody waits, whatever is wrong.
    other = os.open(tmp_path / "pipe", os.O_RDWR)
    try:
        with pytest.raises(ImageFault, match=r"no file and no block device; `ingot image pull - FILE`"):
            opened(tmp_path / "pipe")
    finally:
        os.close(other)


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ImageFault, match=r"it is no file and no block device$"):
        StillFile(tmp_path)


def test_a_file_that_is_gone_has_changed(image: Path) -> None:
    file = StillFile(image)
    image.unlink()
    with pytest.raises(ImageFault, match="changed while it was read"):
        file.check()
