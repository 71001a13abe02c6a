"""Images that lie about their chunks, in a real registry: nothing wrong is read, and `verify` says what is wrong."""

from __future__ import annotations

import hashlib
import json
import tarfile
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import pytest
from backports import zstd

from images.servers.registry import DockerRegistry
from ingot.images.container_disk import open_container_disk
from ingot.images.content import read
from ingot.images.fault import ImageFault
from ingot.images.push import LAYER
from ingot.images.reference import Reference
from ingot.images.registry.client import Image, Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Descriptor, Manifest, encode
from ingot.images.verification import verify_image
from ingot.images.zstd_chunked.position import POSITION, Position, skippable

PLAIN = b"what every tool unpacks".ljust(1000)
HIDDEN = b"what only the table shows".ljust(1000)


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class Layer:
    """A layer with one file, `disk/a`, and a table that may say what it likes."""

    def __init__(self, content: bytes = PLAIN, behind: bytes = b"") -> None:
        """`behind` is put behind the file's frame as it is."""
        header = tarfile.TarInfo("disk/a")
        header.size = len(content)
        self.blob = zstd.compress(header.tobuf())
        self.start = len(self.blob)
        self.blob += zstd.compress(content)
        self.end = len(self.blob)
        self.blob += behind + zstd.compress(bytes(-len(content) % 512 + 1024))
        self.entry = {
            "type": "reg",
            "name": "disk/a",
            "size": len(content),
            "offset": self.start,
            "endOffset": self.end,
            "digest": sha256(content),
        }

    def finish(self, entries: Sequence[dict[str, Any]] = ()) -> tuple[bytes, dict[str, str]]:
        """The blob with its table, and its annotations."""
        table = json.dumps({"version": 1, "entries": list(entries) or [self.entry]}).encode()
        packed = zstd.compress(table)
        position = Position(len(self.blob) + 8, len(packed), len(table))
        return self.blob + skippable(packed) + position.footer(), position.annotations(sha256(packed))


@pytest.fixture
def resolved(registry: Registry, repository: Callable[[], Reference]) -> Callable[..., Image]:
    """Pushes an image with one layer, and resolves it."""

    def push(blob: bytes, annotations: dict[str, str]) -> Image:
        reference = repository()
        pushed = registry.push_blob(reference, [blob], media_type=LAYER)
        layer = Descriptor(media_type=LAYER, digest=pushed.digest, size=pushed.size, annotations=annotations)
        config = registry.push_blob(reference, [b'{"os": "linux"}'], media_type=OCI_CONFIG)
        registry.push_manifest(reference, encode(Manifest(config=config, layers=[layer])), OCI_MANIFEST)
        return registry.resolve(reference)

    return push


def file_of(registry: Registry, image: Image) -> bytes:
    content = open_container_disk(registry, image).content()
    return bytes(read(content, 0, content.size))


def test_an_honest_layer(registry: Registry, resolved: Callable[..., Image]) -> None:
    image = resolved(*Layer().finish())
    assert file_of(registry, image) == PLAIN
    assert verify_image(registry, image).chunks == 1


def test_a_second_disk_where_only_the_table_leads(registry: Registry, resolved: Callable[..., Image]) -> None:
    """Decompressors pass over the frame that it is in."""
    layer = Layer(behind=skippable(zstd.compress(HIDDEN)))
    lie = {"offset": layer.end + 8, "endOffset": layer.end + 8 + len(zstd.compress(HIDDEN)), "digest": sha256(HIDDEN)}
    image = resolved(*layer.finish([layer.entry | lie]))
    assert file_of(registry, image) == HIDDEN
    with pytest.raises(ImageFault, match="tools would disagree") as fault:
        verify_image(registry, image)
    assert fault.value.reason == "TwoDisks"


def test_the_table_has_less_or_more_of_the_file(registry: Registry, resolved: Callable[..., Image]) -> None:
    layer = Layer(behind=skippable(zstd.compress(PLAIN[:500]) + zstd.compress(PLAIN * 2)))
    short = {"size": 500, "offset": layer.end + 8, "endOffset": layer.end + 8 + len(zstd.compress(PLAIN[:500]))}
    image = resolved(*layer.finish([layer.entry | short | {"digest": sha256(PLAIN[:500])}]))
    with pytest.raises(ImageFault, match="is longer in the tar than in the table"):
        verify_image(registry, image)
    long = {"size": 2000, "offset": short["endOffset"], "endOffset": short["endOffset"] + len(zstd.compress(PLAIN * 2))}
    image = resolved(*layer.finish([layer.entry | long | {"digest": sha256(PLAIN * 2)}]))
    with pytest.raises(ImageFault, match="is shorter in the tar than in the table"):
        verify_image(registry, image)


def test_zeros_that_are_none(registry: Registry, resolved: Callable[..., Image]) -> None:
    layer = Layer()
    image = resolved(*layer.finish([layer.entry | {"chunkType": "zeros"}]))
    assert file_of(registry, image) == bytes(1000)
    with pytest.raises(ImageFault, match="has other bytes before 1000"):
        verify_image(registry, image)


@pytest.mark.parametrize("end", [b"", b"x"], ids=["right", "wrong"])
def test_a_hole_takes_no_memory(registry: Registry, resolved: Callable[..., Image], end: bytes) -> None:
    """A table may say that one has 2^50 bytes."""
    layer = Layer(bytes(64 << 20) + end)
    image = resolved(*layer.finish([layer.entry | {"chunkType": "zeros"}]))
    tracemalloc.start()
    try:
        with pytest.raises(ImageFault, match="has other bytes before 67108865") if end else nullcontext():
            assert verify_image(registry, image).chunks == 0
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_a_chunk_that_inflates_to_more(registry: Registry, resolved: Callable[..., Image]) -> None:
    bomb = zstd.compress(bytes(100 << 20))
    layer = Layer(behind=skippable(bomb))
    lie = {"offset": layer.end + 8, "endOffset": layer.end + 8 + len(bomb), "size": 65536}
    image = resolved(*layer.finish([layer.entry | lie]))
    with pytest.raises(ImageFault) as fault:
        file_of(registry, image)
    assert fault.value.reason == "BadChunk"


def test_a_chunk_in_the_table_itself(registry: Registry, resolved: Callable[..., Image]) -> None:
    layer = Layer()
    image = resolved(*layer.finish([layer.entry | {"endOffset": len(layer.blob) + 50}]))
    with pytest.raises(ImageFault, match="and chunks end at"):
        file_of(registry, image)


def test_a_chunk_that_is_too_large_for_memory_is_streamed(registry: Registry, resolved: Callable[..., Image]) -> None:
    content = b"x" * ((16 << 20) + 1)
    disk = open_container_disk(registry, resolved(*Layer(content).finish()))
    assert (disk.how, disk.name) == ("stream", "disk/a")
    with disk.stream() as stream:
        assert b"".join(bytes(data) for data in stream) == content


def test_a_footer_that_leads_elsewhere(registry: Registry, resolved: Callable[..., Image]) -> None:
    blob, annotations = Layer().finish()
    other = Position(5, 10, 10).footer()
    image = resolved(blob[: -len(other)] + other, annotations)
    assert file_of(registry, image) == PLAIN
    with pytest.raises(ImageFault, match="its footer names another table"):
        verify_image(registry, image)


@pytest.mark.parametrize("where", ["0:0:0:1", "99999999:10:10:1", "nonsense", "1:1:1:1:1"])
def test_annotations_that_lead_nowhere(registry: Registry, resolved: Callable[..., Image], where: str) -> None:
    blob, annotations = Layer().finish()
    image = resolved(blob, annotations | {POSITION: where})
    with pytest.raises(ImageFault) as fault:
        open_container_disk(registry, image)
    assert fault.value.reason == "BadTable"


def test_bytes_between_the_chunks_are_verified_too(
    registry: Registry, docker_registry: DockerRegistry, resolved: Callable[..., Image]
) -> None:
    image = resolved(*Layer(behind=skippable(b"between")).finish())
    stored = next(docker_registry.storage.rglob(f"{image.manifest.layers[0].digest.hex}/data"))
    stored.write_bytes(stored.read_bytes().replace(b"between", b"BETWEEN"))
    assert file_of(registry, image) == PLAIN
    with pytest.raises(ImageFault) as fault:
        verify_image(registry, image)
    assert fault.value.reason == "WrongDigest"


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ([{"type": "reg", "name": "disk/a"}, {"type": "reg", "name": "disk/b"}], "TwoDisks"),
        ([{"type": "dir", "name": "disk/"}, {"type": "reg", "name": "etc/disk/a"}], "NoDisk"),
        ([{"type": "reg", "name": "disk/deep/er"}], "NoDisk"),
        ([{"type": "symlink", "name": "disk/a", "linkName": "/etc/shadow"}], "BadTar"),
        ([{"type": "hardlink", "name": "disk", "linkName": "etc/shadow"}], "BadTar"),
        ([{"type": "reg", "name": "../disk/a"}], "BadTable"),
        ([{"type": "reg", "name": "disk/a"}, {"type": "reg", "name": "./disk/a"}], "BadTable"),
    ],
)
def test_tables_without_one_disk(
    registry: Registry, resolved: Callable[..., Image], entries: list[dict[str, Any]], reason: str
) -> None:
    image = resolved(*Layer().finish(entries))
    with pytest.raises(ImageFault) as fault:
        open_container_disk(registry, image)
    assert fault.value.reason == reason
