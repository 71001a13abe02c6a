"""Disks pushed to a real registry: an ordinary container disk for other tools, chunks for us."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from images.servers.faulty import Asked, FaultyServer, PassingHandler
from images.servers.undoing import undoing
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.container_disk import open_container_disk
from ingot.images.content import FileContent, read
from ingot.images.disk import open_disk
from ingot.images.fault import ImageFault
from ingot.images.push import Pushed, PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry import contest
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_INDEX, Index
from ingot.images.registry.platform import parse_platform

SIZE = 8 << 20
PLAIN = PushOptions()


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """8 MiB with data at its start, in its middle and at its end, the rest a hole."""
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    with path.open("wb") as file:
        for place in (0, 3 << 20, SIZE - 2 * CHUNK_SIZE):
            file.seek(place)
            file.write(os.urandom(CHUNK_SIZE) + b"text " * (CHUNK_SIZE // 5) + bytes(CHUNK_SIZE % 5))
    assert path.stat().st_size == SIZE
    return path


def push(registry: Registry, disk: Path, reference: Reference, options: PushOptions = PLAIN) -> Pushed:
    content = open_disk(disk)
    try:
        return push_disk(registry, content, reference, options)
    finally:
        content.close()


def pull(registry: Registry, reference: Reference) -> bytes:
    opened = open_container_disk(registry, registry.resolve(reference))
    assert opened.how == "chunked"
    content = open_disk(opened.content())
    return bytes(read(content, 0, content.size))


def test_what_is_pushed_comes_back(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    reference = repository()
    pushed = push(registry, disk, reference)
    assert (pushed.size, pushed.data) == (SIZE, 6 * CHUNK_SIZE)
    assert pull(registry, reference) == disk.read_bytes()


def test_other_tools_unpack_it(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    reference = repository()
    push(registry, disk, reference)
    where = ["--src-tls-verify=false", f"docker://{reference}", f"dir:{tmp_path / 'image'}"]
    subprocess.run(["skopeo", "copy", "-q", *where], check=True)
    manifest = json.loads((tmp_path / "image" / "manifest.json").read_text())
    layer = tmp_path / "image" / manifest["layers"][0]["digest"].removeprefix("sha256:")
    subprocess.run(["tar", "--zstd", "-xf", layer, "-C", tmp_path], check=True)
    subprocess.run(["qemu-img", "check", "-q", tmp_path / "disk/disk.qcow2"], check=True)
    subprocess.run(["qemu-img", "compare", "-q", tmp_path / "disk/disk.qcow2", disk], check=True)


def test_the_same_disk_is_not_sent_again(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    reference = repository()
    first, again = push(registry, disk, reference), push(registry, disk, reference)
    assert first.sent > CHUNK_SIZE
    assert (again.sent, again.digest) == (0, first.digest)
    labelled = push(registry, disk, reference, PushOptions(labels={"os": "debian"}))
    assert (labelled.sent, labelled.layer) == (0, first.layer)
    assert labelled.digest != first.digest
    harder = push(registry, disk, reference, PushOptions(level=19))
    assert harder.sent == harder.layer.size <= first.layer.size
    other = tmp_path / "other.raw"
    other.write_bytes(disk.read_bytes()[:-1] + b"!")
    assert push(registry, other, reference).sent > CHUNK_SIZE
    assert pull(registry, reference) == other.read_bytes()


def test_labels_and_platform(registry: Registry, repository: Callable[[], Reference], disk: Path) -> None:
    reference = repository()
    push(registry, disk, reference, PushOptions(parse_platform("linux/arm64/v8"), labels={"a": "1", "b": "2"}))
    config = registry.config(registry.resolve(reference))
    assert config.labels == {"a": "1", "b": "2"}
    assert (config.os, config.architecture, config.variant) == ("linux", "arm64", "v8")
    assert registry.resolve(reference, parse_platform("linux/arm64")).digest == registry.digest(reference)
    with pytest.raises(ImageFault, match="for linux/arm64/v8 only, and not for linux/amd64") as caught:
        registry.resolve(reference, parse_platform("linux/amd64"))
    assert caught.value.reason == "NoPlatform"


def test_an_index_of_platforms(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    """A second platform joins the image that is there; a new image for a platform takes the place of its old one."""
    reference = repository()
    arm = tmp_path / "arm.raw"
    arm.write_bytes(b"arm" * 100_000)
    push(registry, disk, reference, PushOptions(parse_platform("linux/amd64")))
    pushed = push(registry, arm, reference, PushOptions(parse_platform("linux/arm64"), index=True))
    document = registry.manifest(reference)
    assert (document.media_type, document.digest) == (OCI_INDEX, pushed.digest)
    push(registry, disk, reference, PushOptions(parse_platform("linux/arm64/v8"), index=True))
    index = registry.manifest(reference).parsed
    assert isinstance(index, Index)
    assert [str(each.platform) for each in index.manifests] == ["linux/amd64", "linux/arm64/v8"]
    for name in ("linux/amd64", "linux/arm64"):
        opened = open_container_disk(registry, registry.resolve(reference, parse_platform(name)))
        assert open_disk(opened.content()).size == SIZE


@pytest.mark.parametrize("name", ["linux/amd64", "linux/arm64"])
@pytest.mark.parametrize("stale", [1, 2, 3])
def test_an_index_into_which_others_push_at_the_same_time(
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    monkeypatch: pytest.MonkeyPatch,
    stale: int,
    name: str,
) -> None:
    """They have read the index before us, and write it after us."""
    monkeypatch.setattr(contest, "_MOST_TURNS", 3)
    reference = repository()
    there = push(registry, disk, reference, PushOptions(parse_platform("linux/amd64"), index=True))
    options = PushOptions(parse_platform(name), index=True, labels={"version": "new"})
    with undoing(reference, "v1", stale) as through:
        if stale == 3:
            with pytest.raises(ImageFault, match="others change it") as caught:
                push(registry, disk, through, options)
            assert caught.value.retry
            return
        pushed = push(registry, disk, through, options)
    document = registry.manifest(reference)
    assert isinstance(document.parsed, Index)
    kept = [there.manifest] if name == "linux/arm64" else []
    assert [each.digest for each in document.parsed.manifests] == [*kept, pushed.manifest]
    assert document.digest == pushed.digest


def test_a_later_image_for_the_same_platform_is_left_in_its_index(
    registry: Registry, repository: Callable[[], Reference], disk: Path
) -> None:
    reference = repository()
    later = PushOptions(parse_platform("linux/amd64"), index=True, labels={"version": "later"})
    push(registry, disk, reference, replace(later, labels={}))
    put: list[Pushed] = []

    def after(asked: Asked) -> None:
        if asked.method == "PUT" and asked.path.endswith("/manifests/v1") and not put:
            put.append(push(registry, disk, reference, later))

    with FaultyServer(PassingHandler(reference.registry, after=after)) as server:
        through = Reference.parse(f"{server.host}/{reference.repository}:v1")
        pushed = push(registry, disk, through, replace(later, labels={"version": "ours"}))
    assert pushed.digest == put[0].digest == registry.digest(reference)


def test_every_format_is_pushed(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    for kind in ("qcow2", "vmdk", "vdi", "vhdx"):
        other = tmp_path / f"disk.{kind}"
        subprocess.run(["qemu-img", "convert", "-O", kind, disk, other], check=True)
        reference = repository()
        push(registry, other, reference)
        assert pull(registry, reference)[:SIZE] == disk.read_bytes(), kind


def test_an_iso_is_pushed_as_it_is(registry: Registry, repository: Callable[[], Reference], tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "readme").write_text("hello")
    iso, reference = tmp_path / "cd.iso", repository()
    command = ["xorriso", "-as", "mkisofs", "-quiet", "-o", str(iso), str(tmp_path / "files")]
    subprocess.run(command, check=True, capture_output=True)
    push(registry, iso, reference)
    assert pull(registry, reference) == iso.read_bytes()


@pytest.mark.parametrize("size", [1, 512, CHUNK_SIZE + 1, 1 << 20])
def test_disks_of_any_size(registry: Registry, repository: Callable[[], Reference], tmp_path: Path, size: int) -> None:
    """Also one that has nothing but zeros. A disk has whole sectors: the last one is filled with zeros."""
    for data in (os.urandom(size), bytes(size)):
        (tmp_path / "disk").write_bytes(data)
        reference = repository()
        pushed = push(registry, tmp_path / "disk", reference)
        assert pushed.data <= pushed.size
        assert pull(registry, reference) == data.ljust(-(-size // 512) * 512, b"\0")


def test_a_disk_of_no_size_is_refused(registry: Registry, repository: Callable[[], Reference], tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(b"")
    with pytest.raises(ImageFault, match="no bytes at all"):
        push(registry, tmp_path / "disk", repository())


def test_a_digest_is_no_place_to_push_to(registry: Registry, repository: Callable[[], Reference], disk: Path) -> None:
    reference = repository()
    pinned = reference.at(push(registry, disk, reference).digest)
    with pytest.raises(ImageFault, match="goes to a tag"):
        push(registry, disk, pinned)


def test_a_fault_of_the_disk_leaves_nothing(
    registry: Registry, repository: Callable[[], Reference], disk: Path
) -> None:
    reference = repository()

    class Broken(FileContent):
        reads = 0

        def readinto(self, start: int, buffer: memoryview) -> None:
            self.reads += 1
            if self.reads > 4:
                raise ImageFault("disk", "Truncated", "it broke")
            super().readinto(start, buffer)

    with Broken(disk) as content, pytest.raises(ImageFault, match="it broke"):
        push_disk(registry, content, reference, PLAIN)
    with pytest.raises(ImageFault):
        registry.resolve(reference)
