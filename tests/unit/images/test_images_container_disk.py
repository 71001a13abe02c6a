"""The disk of an image, in layers that are files of this machine."""

import io
import tarfile
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
        return self._put(directory, blob, writer.annotations)

    def add_tar(self, directory: Path, *members: tuple[str, bytes]) -> Descriptor:
        """A layer that is a plain tar; names of directories end in a slash."""
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as tar:
            for name, data in members:
                info = tarfile.TarInfo(name)
                info.type, info.size = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE, len(data)
                tar.addfile(info, io.BytesIO(data))
        return self._put(directory, file.getvalue(), {})

    def damage(self, layer: Descriptor) -> None:
        """The layer's last bytes are others from now on."""
        path = self._blobs[layer.digest]
        path.write_bytes(path.read_bytes()[:-1] + b"x")

    def _put(self, directory: Path, blob: bytes, annotations: dict[str, str]) -> Descriptor:
        digest = Digest.of(blob)
        self._blobs[digest] = directory / digest.hex
        self._blobs[digest].write_bytes(blob)
        return Descriptor(media_type=LAYER, digest=digest, size=len(blob), annotations=annotations)


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


@pytest.mark.parametrize(
    "upper",
    [
        # Further down in its layer than anybody reads ahead.
        [[("disk/b", bytes(4 << 20)), ("disk/.wh.a", b"")], [("disk/.wh.b", b"")]],
        [[("disk/a/", b"")]],
        [[("disk/b", b"b"), ("disk/a/", b"")], [("disk/.wh.b", b"")]],
        [[("disk", b"b")], [("disk/", b"")]],
    ],
    ids=["a whiteout behind a disk", "a directory", "a directory behind a disk", "a file instead of disk/"],
)
def test_what_a_hidden_layer_hides_stays_hidden(tmp_path: Path, upper: list[list[tuple[str, bytes]]]) -> None:
    shelf = Shelf()
    layers = [[("disk/", b""), ("disk/a", b"lower")], *upper]
    with pytest.raises(ImageFault) as fault:
        open_container_disk(shelf, image(*(shelf.add_tar(tmp_path, *members) for members in layers)))
    assert fault.value.reason == "NoDisk"


@pytest.mark.parametrize("ranged", [True, False], ids=["by its table", "by its tar"])
def test_a_directory_hides_the_disk_of_its_name(tmp_path: Path, ranged: bool) -> None:
    shelf = Shelf(ranged)
    lower = shelf.add_tar(tmp_path, ("disk", b"lower"))
    upper = [shelf.add(tmp_path, "disk", "a", b"upper"), shelf.add(tmp_path, "disk", ".wh.a", b"")]
    with pytest.raises(ImageFault) as fault:
        open_container_disk(shelf, image(lower, *upper))
    assert fault.value.reason == "NoDisk"
    beside = shelf.add(tmp_path, "disk/b", "x", b"")
    assert open_container_disk(shelf, image(upper[0], beside)).name == "disk/a"


def test_a_layer_whose_own_disk_is_hidden_is_verified(tmp_path: Path) -> None:
    """What it hides decides which disk is read."""
    shelf = Shelf()
    layers = [shelf.add_tar(tmp_path, (f"disk/{name}", bytes(4 << 20))) for name in ("a", "b", ".wh.b")]
    assert open_container_disk(shelf, image(*layers)).name == "disk/a"
    shelf.damage(layers[1])
    with pytest.raises(ImageFault) as fault:
        open_container_disk(shelf, image(*layers))
    assert fault.value.reason == "WrongDigest"


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
