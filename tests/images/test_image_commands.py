"""`ingot image push`, `inspect`, `verify` and `diff` on a real registry, as a user types them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from images.builder import Builder
from images.servers.registry import DockerRegistry
from ingot.cli.main import cli
from ingot.images.cache import Cache
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.container_disk import open_container_disk
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.disk import open_disk
from ingot.images.lazy.open import open_lazy
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST, Index, Manifest, Platform, encode
from ingot.images.registry.platform import parse_platform
from ingot.images.seeds import register

SIZE = 4 << 20


def run(*arguments: str | Path | Reference) -> Result:
    return CliRunner().invoke(cli, ["image", *map(str, arguments)], catch_exceptions=False)


def done(*arguments: str | Path | Reference) -> dict[str, Any]:
    """What a command says as JSON."""
    result = run(*arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(8 * CHUNK_SIZE) + bytes(SIZE - 8 * CHUNK_SIZE))
    return path


@pytest.fixture
def pushed(repository: Callable[[], Reference], disk: Path) -> Reference:
    reference = repository()
    done("push", disk, reference, "--label", "os=debian", "--level", "3")
    return reference


def test_push_says_what_it_did(repository: Callable[[], Reference], disk: Path) -> None:
    reference = repository()
    found = done("push", disk, reference)
    assert (found["size"], found["data"]) == (SIZE, 8 * CHUNK_SIZE)
    assert found["sent"] == found["layer"]["size"]
    result = run("push", disk, reference)
    assert "a disk of 4.0 MiB with 512.0 KiB of data; its layer was there already" in result.stdout
    assert found["digest"] in result.stdout


def test_a_label_must_have_a_value(repository: Callable[[], Reference], disk: Path) -> None:
    result = run("push", disk, repository(), "--label", "os")
    assert result.exit_code == 2
    assert '"os" must be KEY=VALUE' in result.output


def test_inspect(pushed: Reference, tmp_path: Path) -> None:
    found = done("inspect", pushed, "--cache", tmp_path / "none")
    assert found["labels"] == {"os": "debian"}
    assert found["disk"]["format"] == "qcow2"
    assert (found["disk"]["size"], found["disk"]["data"]) == (SIZE, 8 * CHUNK_SIZE)
    assert (found["disk"]["name"], found["disk"]["read"]) == ("disk/disk.qcow2", "chunked")
    # Header, reference counts, L1 and L2 come before the data.
    assert found["disk"]["chunks"]["count"] == found["disk"]["fileSize"] // CHUNK_SIZE > 8
    assert found["disk"]["chunks"]["here"] == 0
    text = run("inspect", pushed).stdout
    assert "512.0 KiB; 3.5 MiB are holes" in text
    assert "os=debian" in text


def test_inspect_sends_nothing_to_a_terminal_that_it_would_obey(
    repository: Callable[[], Reference], disk: Path
) -> None:
    reference, label = repository(), "os=\x1b[2Jnone\nImage:     another"
    assert done("push", disk, reference, "--label", label)["sent"]
    assert "Label:     os=?[2Jnone?Image:     another\n" in run("inspect", reference).stdout


def test_inspect_shows_the_index_that_push_printed(repository: Callable[[], Reference], disk: Path) -> None:
    reference = repository()
    digest = done("push", disk, reference, "--index", "--platform", "linux/amd64")["digest"]
    found = done("inspect", reference, "--platform", "linux/amd64")
    assert (found["index"], found["digest"] == digest) == (digest, False)
    assert f"{digest}, of which this is linux/amd64" in run("inspect", reference, "--platform", "linux/amd64").stdout


def test_inspect_tells_what_is_here(registry: Registry, pushed: Reference, disk: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    content = open_container_disk(registry, registry.resolve(pushed)).content()
    chunks = list(content.pieces.chunks())[-2:]
    for number, chunk in enumerate(chunks, 1):
        (data,) = content.chunks.fetch([chunk])
        cache.put(chunk.digest, data)
        assert f" {number} chunk{'s'[: number - 1]}, " in run("inspect", pushed, "--cache", cache.directory).stdout
    found = done("inspect", pushed, "--cache", cache.directory)["disk"]["chunks"]
    assert (found["here"], found["hereCompressed"]) == (2, sum(chunk.end - chunk.start for chunk in chunks))
    third = list(content.pieces.chunks())[-3]
    register(cache.directory / "seeds", disk, [(0, third)])
    assert done("inspect", pushed, "--cache", cache.directory)["disk"]["chunks"]["here"] == 3


def test_inspect_and_verify_an_image_without_chunks(
    registry: Registry, repository: Callable[[], Reference], tmp_path: Path, disk: Path
) -> None:
    if lacking := Builder.why_not():
        pytest.skip(lacking)
    qcow2 = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, qcow2], check=True)
    builder = Builder(tmp_path)
    builder.build("foreign", "FROM scratch\nADD a /a\nADD disk.qcow2 /disk/\n", {"disk.qcow2": qcow2, "a": b"a"})
    reference = repository()
    builder.push("foreign", reference)
    found = done("inspect", reference)["disk"]
    assert (found["format"], found["size"], found["read"]) == ("qcow2", SIZE, "stream")
    assert found["chunks"] is None
    cache = Cache(tmp_path / "cache")
    assert "once this machine has an index" in run("inspect", reference, "--cache", cache.directory).stdout
    open_lazy(registry, reference, cache).close()
    assert done("inspect", reference, "--cache", cache.directory)["disk"]["read"] == "indexed"
    assert "by the index that this machine has" in run("inspect", reference, "--cache", cache.directory).stdout
    assert "all as they should be" in run("verify", reference).stdout
    newer = reference.tagged("v2")
    done("push", disk, newer)
    moved = done("diff", reference, newer)
    assert (moved["changed"], moved["compressed"]) == (None, done("inspect", newer)["layers"][0]["size"])
    assert "because one of the two has no chunks" in run("diff", reference, newer).stdout
    assert f"{qcow2} is {reference}" in run("verify", reference, qcow2).stdout
    subprocess.run(["qemu-io", "-f", "qcow2", "-c", "write -P 7 1M 512", qcow2], check=True, capture_output=True)
    assert f"differs from the disk of {reference} at byte {1 << 20}" in run("verify", reference, qcow2).output


def test_verify_reads_every_chunk(pushed: Reference) -> None:
    found = done("verify", pushed)
    assert found["chunks"] == done("inspect", pushed)["disk"]["chunks"]["count"]
    assert f"{pushed} is {found['digest']}" in run("verify", pushed).stdout


def test_verify_reads_every_image_of_an_index(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference], disk: Path
) -> None:
    reference, names = repository(), ["linux/amd64", "linux/arm64", "linux/s390x"]
    for name in names:
        disk.write_bytes(name.encode() + disk.read_bytes()[len(name) :])
        digest = done("push", disk, reference, "--index", "--platform", name)["digest"]
    index = registry.manifest(reference).parsed
    assert isinstance(index, Index)
    attested = encode(Manifest(config=registry.resolve(reference, parse_platform(names[0])).manifest.config, layers=[]))
    registry.push_manifest(reference.at(Digest.of(attested)), attested, OCI_MANIFEST)
    nowhere = Platform(os="unknown", architecture="unknown")
    nothing = replace(index.manifests[0], digest=Digest.of(attested), size=len(attested), platform=nowhere)
    noted = registry.push_manifest(reference, encode(replace(index, manifests=[nothing, *index.manifests])), OCI_INDEX)
    found = done("verify", reference)
    assert found["digest"] == str(noted) != digest
    assert [each["platform"] for each in found["images"]] == names
    assert found["chunks"] == sum(each["chunks"] for each in found["images"]) > 0
    text = run("verify", reference).stdout
    assert all(f"  {each['platform']}: {each['digest']}, 1 layer, " in text for each in found["images"])
    layer = registry.resolve(reference, parse_platform(names[-1])).manifest.layers[0]
    next(docker_registry.storage.rglob(f"{layer.digest.hex}/data")).write_bytes(bytes(layer.size))
    result = run("verify", reference)
    assert result.exit_code == 1
    assert str(layer.digest) in result.output
    assert done("verify", reference, "--platform", names[0])["images"] == found["images"][:1]


@pytest.mark.parametrize("place", ["first chunk", "last chunk", "table", "footer"])
def test_verify_finds_what_is_broken(
    docker_registry: DockerRegistry, registry: Registry, pushed: Reference, place: str
) -> None:
    disk = open_container_disk(registry, registry.resolve(pushed))
    assert disk.pieces is not None
    chunks = list(disk.pieces.chunks())
    where = {
        "first chunk": chunks[0].start + 5,
        "last chunk": chunks[-1].end - 5,
        "table": disk.blob.size - 200,
        "footer": disk.blob.size - 1,
    }
    path = next(docker_registry.storage.rglob(f"{disk.layer.digest.hex}/data"))
    kept = path.read_bytes()
    broken = bytearray(kept)
    broken[where[place]] ^= 0x55
    path.write_bytes(broken)
    try:
        result = run("verify", pushed)
        assert result.exit_code == 1
        assert str(disk.layer.digest) in result.output
    finally:
        path.write_bytes(kept)


def test_a_damaged_layer_is_mended_by_what_the_message_says(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference], disk: Path
) -> None:
    """The registry has the same blob already, whatever has become of it, when the disk is only pushed again."""
    reference = repository()
    disk.write_bytes(b"a few words " * CHUNK_SIZE)
    done("push", disk, reference)
    opened = open_container_disk(registry, registry.resolve(reference))
    assert opened.pieces is not None
    path = next(docker_registry.storage.rglob(f"{opened.layer.digest.hex}/data"))
    damaged = bytearray(path.read_bytes())
    damaged[list(opened.pieces.chunks())[-1].end - 5] ^= 0x55
    path.write_bytes(damaged)
    for again in ([], ["--level", "6"]):
        done("push", disk, reference, *again)
        assert "or push it with another --level" in run("pull", reference, disk.with_name("pulled")).output
    done("push", disk, reference, "--level", "9")
    assert run("verify", reference).exit_code == 0


def test_verify_a_disk_of_this_machine(pushed: Reference, disk: Path, tmp_path: Path) -> None:
    assert run("verify", pushed, disk).stdout == f"{disk} is {pushed}\n"
    qcow2 = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "convert", "-c", "-O", "qcow2", disk, qcow2], check=True)
    assert run("verify", pushed, qcow2).exit_code == 0
    data = bytearray(disk.read_bytes())
    data[300_000] ^= 1
    disk.write_bytes(data)
    result = run("verify", pushed, disk)
    assert result.exit_code == 1
    assert f"it differs from the disk of {pushed} at byte 300000" in result.output
    data[300_000] ^= 1
    disk.write_bytes(data[: SIZE - 1024])
    assert f"at byte {SIZE - 1024}" in run("verify", pushed, disk).output


def test_diff_counts_what_moves(pushed: Reference, disk: Path) -> None:
    newer = pushed.tagged("v2")
    data = bytearray(disk.read_bytes())
    data[:10] = b"0123456789"
    data[SIZE - 3 :] = b"new"
    disk.write_bytes(data)
    done("push", disk, newer)
    found = done("diff", pushed, newer)
    # Two clusters, and the tables of the qcow2, which has one more.
    assert 2 <= found["changed"] <= 5
    assert found["moved"] == found["compressed"] + found["table"] + found["metadata"]
    assert CHUNK_SIZE < found["compressed"] < 2 * CHUNK_SIZE
    assert "chunks" in run("diff", pushed, newer).stdout
    assert run("diff", pushed, pushed).stdout == "The same image: nothing moves.\n"
    done("push", disk, newer, "--label", "a=b")
    assert done("diff", pushed.tagged("v2"), newer)["moved"] == 0


def test_an_update_reads_as_the_new_disk(registry: Registry, pushed: Reference, disk: Path) -> None:
    data = disk.read_bytes()[:-1] + b"!"
    disk.write_bytes(data)
    done("push", disk, pushed)
    content = open_disk(open_container_disk(registry, registry.resolve(pushed)).content())
    assert hashlib.sha256(read(content, 0, content.size)).digest() == hashlib.sha256(data).digest()


def test_what_is_not_there(repository: Callable[[], Reference]) -> None:
    for command in (["inspect"], ["verify"], ["diff", str(repository())]):
        result = run(*command, repository())
        assert result.exit_code == 1
        assert result.output.startswith("Error: ")
        assert result.output.count("\n") == 1
