"""The disk of an image, in layers that are files of this machine."""

from pathlib import Path

import pytest

from ingot.images.blob import Blob, FileBlob, no_ranges
from ingot.images.container_disk import open_container_disk
from ingot.images.content import FileContent, read
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Descriptor, Manifest
from ingot.images.zstd_chunked.writer import LayerWriter

LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
REFERENCE = Reference.parse("registry.example/vmdisks/debian:12")
NOTHING = Descriptor(media_type=OCI_CONFIG, digest=Digest.of(b""), size=0)


class Shelf(Registry):
    """A registry whose blobs are files, without ranges if so wished."""

    def __init__(self, ranged: bool = True) -> None:
        self._blobs: dict[Digest, Path] = {}
        self._ranged = ranged

    def blob(self, reference: Reference, descriptor: Descriptor) -> Blob:
        path = self._blobs[descriptor.digest]
        return FileBlob(path) if self._ranged else Rangeless(path)

    def add(self, directory: Path, folder: str, name: str, data: bytes) -> Descriptor:
        """A layer in zstd:chunked form with one file."""
        source = directory / "source"
        source.write_bytes(data)
        with FileContent(source) as content:
            writer = LayerWriter(content, folder, name)
            blob = b"".join(writer)
        digest = Digest.of(blob)
        self._blobs[digest] = directory / digest.hex
        self._blobs[digest].write_bytes(blob)
        return Descriptor(media_type=LAYER, digest=digest, size=len(blob), annotations=writer.annotations)


class Rangeless(FileBlob):
    def readinto(self, start: int, buffer: memoryview) -> None:
        raise no_ranges(self)


def image(*layers: Descriptor) -> Image:
    manifest = Manifest(config=NOTHING, layers=list(layers))
    return Image(REFERENCE, NOTHING.digest, manifest, b"", OCI_MANIFEST, None, None)


def test_the_topmost_disk_wins(tmp_path: Path) -> None:
    shelf = Shelf()
    lower, upper = (shelf.add(tmp_path, "disk", "a", data) for data in (b"lower", b"upper"))
    other = shelf.add(tmp_path, "etc", "a", b"other")
    disk = open_container_disk(shelf, image(lower, upper, other))
    content = disk.content()
    assert (disk.name, disk.layer, bytes(read(content, 0, 5))) == ("disk/a", upper, b"upper")


@pytest.mark.parametrize(
    ("folder", "name"), [("disk", ".wh.a"), (".", ".wh.disk"), ("disk", ".wh..wh..opq"), (".", ".wh..wh..opq")]
)
@pytest.mark.parametrize("ranged", [True, False], ids=["by its table", "by its tar"])
def test_whiteouts_hide_what_is_below(tmp_path: Path, folder: str, name: str, ranged: bool) -> None:
    shelf = Shelf(ranged)
    lower, upper = shelf.add(tmp_path, "disk", "a", b"lower"), shelf.add(tmp_path, folder, name, b"")
    with pytest.raises(ImageFault) as fault:
        open_container_disk(shelf, image(lower, upper))
    assert fault.value.reason == "NoDisk"
    assert open_container_disk(shelf, image(upper, lower)).layer == lower


def test_whiteouts_of_other_files_hide_nothing(tmp_path: Path) -> None:
    shelf = Shelf()
    lower = shelf.add(tmp_path, "disk", "a", b"lower")
    others = [shelf.add(tmp_path, "disk", ".wh.b", b""), shelf.add(tmp_path, "etc", ".wh..wh..opq", b"")]
    assert open_container_disk(shelf, image(lower, *others)).layer == lower


def test_without_ranges_it_is_streamed(tmp_path: Path) -> None:
    shelf = Shelf(ranged=False)
    layers = [shelf.add(tmp_path, "disk", "a", b"a" * 100_000), shelf.add(tmp_path, "etc", "a", b"other")]
    disk = open_container_disk(shelf, image(*layers))
    assert (disk.how, disk.name) == ("stream", "")
    with disk.stream() as stream:
        assert b"".join(bytes(data) for data in stream) == b"a" * 100_000
    with pytest.raises(ValueError, match="has no chunks"):
        disk.content()


def test_an_image_without_layers_has_no_disk() -> None:
    with pytest.raises(ImageFault, match="none of its 0 layers"):
        open_container_disk(Shelf(), image())
