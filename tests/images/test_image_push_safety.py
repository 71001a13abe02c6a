"""Pushes that must not be led astray, by strangers' layers and mirrors, nor leave anything behind."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from backports import zstd
from click.testing import CliRunner

from images.servers.faulty import Asked, FaultyServer, PassingHandler, answer
from images.servers.registry import DockerRegistry
from images.servers.serving import INGOT, wait_for
from images.test_image_push import pull, push
from ingot.cli.main import cli
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.content import Content, FileContent
from ingot.images.fault import ImageFault
from ingot.images.push import LAYER, PushOptions, lay_out
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST, Index, Manifest, encode
from ingot.images.registry.platform import parse_platform
from ingot.images.registry.removal import remove
from ingot.images.registry.settings import Settings
from ingot.images.zstd_chunked.position import Position, skippable
from ingot.images.zstd_chunked.writer import LayerWriter

ACCEPT = {"Accept": f"{OCI_INDEX}, {OCI_MANIFEST}"}


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(2 * CHUNK_SIZE) + bytes(8 * CHUNK_SIZE) + b"text" * CHUNK_SIZE)
    return path


def hidden_layer(image: Content, shown: bytes) -> tuple[bytes, dict[str, str]]:
    """A layer that other tools unpack to `shown`, a tar, while its table leads to the chunks of the file, which lie in
    what decompressors pass over."""
    writer = LayerWriter(image, "disk", "disk.qcow2")
    blob = b"".join(writer)
    position, _ = Position.from_annotations("x", writer.annotations, len(blob))
    table = json.loads(zstd.decompress(blob[position.start : position.start + position.length]))
    frames = blob[: position.start - 8]
    front = zstd.compress(shown)
    for entry in table["entries"]:
        for key in ("offset", "endOffset"):
            if key in entry:
                entry[key] += len(front) + 8
    plain = json.dumps(table).encode()
    packed = zstd.compress(plain)
    front += skippable(frames)
    where = Position(len(front) + 8, len(packed), len(plain))
    annotations = where.annotations(f"sha256:{hashlib.sha256(packed).hexdigest()}")
    return front + skippable(packed) + where.footer(), annotations


def test_the_layer_of_a_stranger_is_not_taken_over(
    registry: Registry, repository: Callable[[], Reference], disk: Path
) -> None:
    """Its chunks are those of the disk; what other tools make of it is not."""
    reference = repository()
    honest = push(registry, disk, reference)
    config = registry.resolve(reference).manifest.config
    with FileContent(disk) as content:
        blob, annotations = hidden_layer(lay_out(content, "x"), b"something else".ljust(10240, b"\0"))
    layer = registry.push_blob(reference, [blob], media_type=LAYER)
    manifest = encode(Manifest(config=config, layers=[msgspec.structs.replace(layer, annotations=annotations)]))
    registry.push_manifest(reference, manifest, OCI_MANIFEST)
    assert pull(registry, reference) == disk.read_bytes()
    again = push(registry, disk, reference)
    assert again.layer == honest.layer
    assert again.digest == honest.digest


def test_a_mirror_does_not_decide_what_is_pushed_or_removed(
    docker_registry: DockerRegistry,
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    tmp_path: Path,
    settings: Settings,
) -> None:
    """A mirror that is behind has another image under the tag, and an index that was replaced since."""
    reference, behind = repository(), repository()
    other = tmp_path / "other.raw"
    other.write_bytes(b"other" * 100_000)
    push(registry, disk, behind, PushOptions(parse_platform("linux/s390x"), index=True))
    push(registry, other, reference, PushOptions(parse_platform("linux/amd64"), index=True))
    kept = registry.manifest(reference).parsed

    def mirror_of(asked: Asked, client: socket.socket) -> None:
        path = asked.path.replace(f"/{reference.repository}/", f"/{behind.repository}/")
        with urllib.request.urlopen(urllib.request.Request(f"http://{behind.registry}{path}", headers=ACCEPT)) as found:
            kind, digest = found.headers["Content-Type"], found.headers["Docker-Content-Digest"]
            answer(client, 200, found.read(), content_type=kind, docker_content_digest=digest)

    with FaultyServer(mirror_of) as mirror:
        mirrored = replace(settings, mirrors={docker_registry.host: [mirror.host]})
        with Registry(mirrored) as client:
            assert client.digest(reference) == registry.digest(behind)
            arm = PushOptions(parse_platform("linux/arm64"), index=True)
            pushed = push(client, disk, reference, arm)
            index = registry.manifest(reference).parsed
            assert isinstance(index, Index)
            assert isinstance(kept, Index)
            assert [each.digest for each in index.manifests] == [kept.manifests[0].digest, pushed.manifest]
            assert remove(client, reference) == pushed.digest
    with pytest.raises(ImageFault):
        registry.manifest(reference)


def test_a_disk_that_changes_while_it_is_pushed_becomes_no_image(
    registry: Registry, repository: Callable[[], Reference], disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes to a place that was zeros when they were looked for would be missing in it."""
    reference = repository()
    os.utime(disk, (0, 0))

    @contextmanager
    def change(label: str) -> Iterator[Callable[[int, int], None]]:
        def tell(done: int, whole: int) -> None:
            if label == disk.name:
                with disk.open("r+b") as file:
                    file.seek(4 * CHUNK_SIZE)
                    file.write(b"late")

        yield tell

    monkeypatch.setattr("ingot.cli.image.progress.progress", change)
    result = CliRunner().invoke(cli, ["image", "push", str(disk), str(reference)])
    assert result.exit_code == 1
    assert f"{disk}: it was changed while it was read" in result.output
    with pytest.raises(ImageFault):
        registry.resolve(reference)


def test_a_push_that_is_told_to_end_leaves_no_upload(
    docker_registry: DockerRegistry, repository: Callable[[], Reference], tmp_path: Path
) -> None:
    reference = repository()
    (tmp_path / "disk.raw").write_bytes(os.urandom(64 << 20))
    uploads = docker_registry.storage / "docker/registry/v2/repositories" / reference.repository / "_uploads"
    push = subprocess.Popen([INGOT, "image", "push", tmp_path / "disk.raw", str(reference)])
    try:
        wait_for(lambda: any(path.stat().st_size for path in uploads.glob("*/data")))
        push.terminate()
        assert push.wait(20) == 128 + signal.SIGTERM
    finally:
        push.kill()
        push.wait()
    assert not any(uploads.glob("*/data"))


class Forgetful:
    """Forgets the first upload when a piece of it comes, and answers `status` from then on."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.forgotten = ""

    def __call__(self, asked: Asked, client: socket.socket) -> bool:
        upload, _, _ = asked.path.partition("?")
        if asked.method == "PATCH":
            self.forgotten = self.forgotten or upload
        if upload == self.forgotten:
            answer(client, self._status)
        return upload == self.forgotten


@pytest.mark.parametrize("status", [400, 404, 416])
def test_an_upload_that_is_lost_costs_nothing_but_time(
    docker_registry: DockerRegistry, repository: Callable[[], Reference], disk: Path, tmp_path: Path, status: int
) -> None:
    def run(*arguments: object) -> str:
        done = CliRunner().invoke(cli, ["image", *map(str, arguments)])
        assert done.exit_code == 0, done.output
        return done.output

    lost, later, other = repository(), repository(), repository()
    way = Forgetful(status)
    with FaultyServer(PassingHandler(docker_registry.host, way)) as server:
        run("push", disk, f"{server.host}/{lost.repository}:v1", "--cache", tmp_path / "a")
        again = run("push", disk, f"{server.host}/{later.repository}:v1", "--cache", tmp_path / "a")
    assert way.forgotten
    assert "its layer was there already" in again
    run("push", disk, other, "--cache", tmp_path / "b")
    digest = json.loads(run("inspect", other, "--output", "json"))["digest"]
    for number, reference in enumerate((lost, later)):
        assert json.loads(run("inspect", reference, "--output", "json"))["digest"] == digest
        run("verify", reference)
        run("pull", reference, tmp_path / f"{number}.raw", "--cache", tmp_path / "none")
        assert (tmp_path / f"{number}.raw").read_bytes() == disk.read_bytes()


def test_notes_from_before_uploads_could_be_lost_are_not_used(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    options = PushOptions(cache=tmp_path / "cache")
    push(registry, disk, repository(), options)
    (tmp_path / "cache" / "pushed-layers").rename(tmp_path / "cache" / "pushed")
    assert push(registry, disk, repository(), options).sent
