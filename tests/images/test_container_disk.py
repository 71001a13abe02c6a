"""Container disks that other tools have built: their disk is found, wherever it is."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from images.builder import Builder
from ingot.images.container_disk import ContainerDisk, open_container_disk
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST, Descriptor, Index, Manifest, encode
from ingot.images.registry.platform import own_platform, parse_platform

GZIP = ("--format", "docker")
# What BuildKit attaches to each image that it builds.
STATEMENT = "application/vnd.in-toto+json"
CHUNKED = ("--compression-format", "zstd:chunked")
FORMS = {
    "docker, gzip": GZIP,
    "oci, gzip": ("--format", "oci"),
    "oci, zstd": ("--compression-format", "zstd"),
    "oci, zstd:chunked": CHUNKED,
    "oci, not compressed": ("--disable-compression",),
}


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    if lacking := Builder.why_not():
        pytest.skip(lacking)
    return Builder(tmp_path_factory.mktemp("buildah"))


@pytest.fixture(scope="session")
def qcow2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fedora") / "fedora25.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "16M"], check=True)
    subprocess.run(["qemu-io", "-c", "write -q -P 0x5a 1M 200k", path], check=True)
    return path


@pytest.fixture
def opened(registry: Registry, repository: Callable[[], Reference], builder: Builder) -> Callable[..., ContainerDisk]:
    """Pushes a built image in a form of FORMS, and opens it."""

    def push_and_open(tag: str, form: tuple[str, ...]) -> ContainerDisk:
        reference = repository()
        builder.push(tag, reference, *form)
        return open_container_disk(registry, registry.resolve(reference))

    return push_and_open


def file_of(disk: ContainerDisk) -> bytes:
    """All bytes of the file with the disk."""
    if disk.pieces is not None:
        content = disk.content()
        return bytes(read(content, 0, content.size))
    with disk.stream() as stream:
        return b"".join(bytes(data) for data in stream)


@pytest.mark.parametrize("form", FORMS)
def test_the_two_lines_of_the_seed(
    opened: Callable[..., ContainerDisk], builder: Builder, qcow2: Path, form: str
) -> None:
    """On a base that has no /disk, ADD makes the file /disk itself."""
    builder.build("two-lines", "FROM scratch\nADD fedora25.qcow2 /disk\n", {"fedora25.qcow2": qcow2})
    disk = opened("two-lines", FORMS[form])
    assert disk.how == ("chunked" if "chunked" in form else "stream")
    assert file_of(disk) == qcow2.read_bytes()
    if disk.pieces is not None:
        assert disk.name == "disk"
        assert read(open_disk(disk.content()), 1 << 20, 9) == b"\x5a" * 9


def test_podman_builds_and_pushes_it(
    registry: Registry, repository: Callable[[], Reference], qcow2: Path, tmp_path: Path
) -> None:
    if lacking := Builder.why_not("podman"):
        pytest.skip(lacking)
    podman, reference = Builder(tmp_path / "podman", "podman"), repository()
    podman.build("two-lines", "FROM scratch\nADD fedora25.qcow2 /disk\n", {"fedora25.qcow2": qcow2})
    podman.push("two-lines", reference)
    assert file_of(open_container_disk(registry, registry.resolve(reference))) == qcow2.read_bytes()


def test_an_index_with_an_attestation_as_docker_build_makes_it(
    registry: Registry, repository: Callable[[], Reference], builder: Builder, qcow2: Path
) -> None:
    """BuildKit attaches to each image what it knows of how that was made, for the platform `unknown/unknown`."""
    reference = repository()
    builder.build("attested", "FROM scratch\nADD fedora25.qcow2 /disk/\n", {"fedora25.qcow2": qcow2})
    builder.push("attested", reference, "--format", "oci")
    image = registry.resolve(reference)
    statement = registry.push_blob(reference, [b"{}"], media_type="application/vnd.in-toto+json")
    said = encode(Manifest(config=statement, layers=[statement]))
    entries = [
        Descriptor(media_type=OCI_MANIFEST, digest=image.digest, size=len(image.raw), platform=own_platform()),
        Descriptor(
            media_type=OCI_MANIFEST,
            digest=registry.push_manifest(reference.at(Digest.of(said)), said, OCI_MANIFEST),
            size=len(said),
            platform=parse_platform("unknown/unknown"),
            annotations={
                "vnd.docker.reference.type": "attestation-manifest",
                "vnd.docker.reference.digest": str(image.digest),
            },
        ),
    ]
    registry.push_manifest(reference, encode(Index(manifests=entries)), OCI_INDEX)
    assert file_of(open_container_disk(registry, registry.resolve(reference))) == qcow2.read_bytes()


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
def test_a_base_with_a_directory_for_it(
    opened: Callable[..., ContainerDisk], builder: Builder, qcow2: Path, form: tuple[str, ...]
) -> None:
    """The layers of the base are not read where the disk is above them."""
    builder.build("base", "FROM scratch\nADD a /bin/a\n", {"a": b"a" * 1000})
    builder.build("above", "FROM base\nADD fedora25.qcow2 /disk/\n", {"fedora25.qcow2": qcow2})
    disk = opened("above", form)
    assert file_of(disk) == qcow2.read_bytes()
    assert disk.name == "disk/fedora25.qcow2"


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
def test_layers_above_the_disk(
    opened: Callable[..., ContainerDisk], builder: Builder, qcow2: Path, form: tuple[str, ...]
) -> None:
    lines = "FROM scratch\nADD fedora25.qcow2 /disk/\nADD a /etc/a\nADD b /etc/b\n"
    builder.build("below", lines, {"fedora25.qcow2": qcow2, "a": b"a", "b": os.urandom(100_000)})
    assert file_of(opened("below", form)) == qcow2.read_bytes()


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
def test_an_upper_disk_wins(
    opened: Callable[..., ContainerDisk], builder: Builder, qcow2: Path, form: tuple[str, ...]
) -> None:
    lines = "FROM scratch\nADD old /disk/x\nADD fedora25.qcow2 /disk/x\nADD a /a\n"
    builder.build("twice", lines, {"fedora25.qcow2": qcow2, "old": b"old", "a": b"a"})
    assert file_of(opened("twice", form)) == qcow2.read_bytes()


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
@pytest.mark.parametrize("above", [b"", b"new"], ids=["nothing above", "another above"])
def test_a_disk_that_was_taken_away(
    opened: Callable[..., ContainerDisk], builder: Builder, form: tuple[str, ...], above: bytes
) -> None:
    """`rm` in a Dockerfile leaves a whiteout. Nothing here can be run, so the layer is made as `rm` makes it."""
    tag = f"gone-{len(above)}"
    lines = "FROM scratch\nADD old /disk/old\nADD .wh.old /disk/\n" + ("ADD new /disk/new\n" if above else "")
    builder.build(tag, lines, {"old": b"old", ".wh.old": b"", "new": above})
    if above:
        assert file_of(opened(tag, form)) == above
    else:
        with pytest.raises(ImageFault, match="none of its 2 layers"):
            opened(tag, form)


@pytest.mark.parametrize(
    ("form", "whiteout"),
    [(GZIP, "ADD .wh.disk /"), (CHUNKED, "ADD .wh..wh..opq /disk/"), (GZIP, "ADD .wh..wh..opq /")],
)
def test_a_directory_that_was_taken_away(
    opened: Callable[..., ContainerDisk], builder: Builder, form: tuple[str, ...], whiteout: str
) -> None:
    files: dict[str, Path | bytes] = {"old": b"old", ".wh.disk": b"", ".wh..wh..opq": b""}
    builder.build("hidden", f"FROM scratch\nADD old /disk/old\n{whiteout}\n", files)
    with pytest.raises(ImageFault) as fault:
        opened("hidden", form)
    assert fault.value.reason == "NoDisk"


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
def test_no_disk_and_two_disks(opened: Callable[..., ContainerDisk], builder: Builder, form: tuple[str, ...]) -> None:
    builder.build("none", "FROM scratch\nADD a /a\nADD a /b\n", {"a": b"a"})
    with pytest.raises(ImageFault) as fault:
        file_of(opened("none", form))
    assert fault.value.reason == "NoDisk"
    builder.build("two", "FROM scratch\nADD a b /disk/\n", {"a": b"a", "b": b"b"})
    with pytest.raises(ImageFault) as fault:
        file_of(opened("two", form))
    assert fault.value.reason == "TwoDisks"


@pytest.mark.parametrize("form", [GZIP, CHUNKED], ids=["gzip", "chunked"])
def test_a_link_is_no_disk(
    opened: Callable[..., ContainerDisk], builder: Builder, form: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "link").symlink_to("/etc/shadow")
    subprocess.run(["tar", "-C", tmp_path, "-cf", tmp_path / "x.tar", "disk"], check=True)
    builder.build("link", "FROM scratch\nADD x.tar /\n", {"x.tar": tmp_path / "x.tar"})
    with pytest.raises(ImageFault) as fault:
        file_of(opened("link", form))
    assert fault.value.reason == "BadTar"
