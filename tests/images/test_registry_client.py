"""The registry client against a real docker-registry."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import subprocess
import tarfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from images.servers.limited import LimitedProxy
from images.servers.registry import DockerRegistry
from ingot.images.blob import BlobContent
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_CONFIG,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    encode,
)

LAYER = "application/vnd.oci.image.layer.v1.tar"


DOCS = Path(__file__).parents[2] / "docs" / "golden-images.md"
CONFIG = b'{"architecture":"amd64","os":"linux"}'


def push(
    client: Registry, reference: Reference, data: bytes, configuration: bytes = CONFIG
) -> tuple[Digest, Descriptor]:
    """An image of one layer with these bytes."""
    config = client.push_blob(reference, [configuration], media_type=OCI_CONFIG)
    layer = client.push_blob(reference, [data], media_type=LAYER)
    raw = encode(Manifest(config=config, layers=[layer]))
    return client.push_manifest(reference, raw, OCI_MANIFEST), layer


def push_index(client: Registry, reference: Reference, *architectures: str) -> None:
    """An image of one disk for each of these."""
    listed = []
    for architecture in architectures:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w") as tar:
            tar.addfile(tarfile.TarInfo(f"disk/{architecture}.img"))
        diff = f"sha256:{hashlib.sha256(data.getvalue()).hexdigest()}"
        config = {"architecture": architecture, "os": "linux", "rootfs": {"type": "layers", "diff_ids": [diff]}}
        digest, _ = push(client, reference, data.getvalue(), json.dumps(config).encode())
        size = len(client.resolve(reference).raw)
        listed.append(Descriptor(OCI_MANIFEST, digest, size, platform=Platform(architecture, "linux")))
    client.push_manifest(reference, encode(Index(listed)), OCI_INDEX)


def test_what_is_pushed_comes_back(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference, data = repository(), os.urandom(20 << 20)
    digest, layer = push(registry, reference, data)
    image = registry.resolve(reference)
    assert image.digest == digest
    assert image.manifest.layers == [layer]
    assert registry.config(image).architecture == "amd64"
    blob = registry.blob(reference, layer)
    assert blob.ranged
    assert bytes(blob.read(12345, 1 << 20)) == data[12345 : 12345 + (1 << 20)]
    assert read(BlobContent(blob), len(data) - 5, 5) == data[-5:]
    assert registry.read(reference, layer, len(data)) == data


def test_many_threads_read_at_once(registry: Registry, repository: Callable[[], Reference]) -> None:
    reference, data = repository(), os.urandom(4 << 20)
    _, layer = push(registry, reference, data)
    blob = registry.blob(reference, layer)
    chance = random.Random(4)  # noqa: S311
    places = [(chance.randrange(len(data) - 70_000), chance.randrange(1, 70_000)) for _ in range(200)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda place: bytes(blob.read(*place)), places))
    assert found == [data[start : start + length] for start, length in places]


def test_images_of_docker_by_skopeo(registry: Registry, repository: Callable[[], Reference], tmp_path: Path) -> None:
    """skopeo makes Docker's own manifests of ours, and takes both."""
    ours, theirs = repository(), repository()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("disk/disk.img"))
    digest = hashlib.sha256(data.getvalue()).hexdigest()
    config = {"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}}
    push(registry, ours, data.getvalue(), json.dumps(config).encode())
    skopeo = ["skopeo", "copy", "--quiet", "--src-tls-verify=false", "--dest-tls-verify=false"]
    subprocess.run([*skopeo, "--format", "v2s2", f"docker://{ours}", f"docker://{theirs}"], check=True)
    image = registry.resolve(theirs)
    assert image.manifest.media_type == DOCKER_MANIFEST
    assert registry.config(image).architecture == "amd64"
    subprocess.run([*skopeo, f"docker://{theirs}", f"dir:{tmp_path / 'copy'}"], check=True)


@pytest.mark.parametrize("form", ["oci", "v2s2"])
def test_an_index_is_carried_over_a_gap_with_all_its_digests(
    registry: Registry, repository: Callable[[], Reference], tmp_path: Path, form: str
) -> None:
    """By the commands of docs/golden-images.md for registries that do not reach each other (G11)."""
    made, outside, inside = repository(), repository(), repository()
    push_index(registry, made, "amd64", "arm64")
    plain = ["skopeo", "copy", "-q", "--src-tls-verify=false", "--dest-tls-verify=false"]
    subprocess.run([*plain, "--all", "--format", form, f"docker://{made}", f"docker://{outside}"], check=True)
    places = {"docker://quay.io/": f"docker://{outside}", "docker://registry.lab": f"docker://{inside}"}
    recipe = [line for line in DOCS.read_text().splitlines() if line.startswith("$ skopeo copy ") and "fedora" in line]
    for line in recipe:
        words = line.partition("#")[0].split()[3:]
        named = [next((to for start, to in places.items() if word.startswith(start)), word) for word in words]
        subprocess.run([*plain, *named], cwd=tmp_path, check=True)
    sent, came = registry.resolve(outside), registry.resolve(inside)
    assert len(recipe) == 2
    assert sent.index is not None
    assert came.index is not None
    assert (came.index.digest, came.digest) == (sent.index.digest, sent.digest)
    kinds = {"oci": (OCI_INDEX, OCI_MANIFEST), "v2s2": (DOCKER_INDEX, DOCKER_MANIFEST)}
    assert (came.index.parsed.media_type, came.manifest.media_type) == kinds[form]


def test_the_limited_proxy_limits(
    docker_registry: DockerRegistry, registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference, data = repository(), os.urandom(1 << 20)
    _, layer = push(registry, reference, data)
    with LimitedProxy(docker_registry.port, rate=2_000_000, delay=0.05) as proxy:
        through = Reference.parse(f"{proxy.host}/{reference.repository}")
        blob = registry.blob(through, layer)
        blob.read(0, 1)
        before, moved = time.monotonic(), proxy.sent
        blob.read(0, 1)
        assert time.monotonic() - before >= 0.05
        before = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda part: blob.read(part << 18, 1 << 18), range(4)))
        assert time.monotonic() - before >= 0.5
        assert len(data) < proxy.sent - moved < len(data) + 20_000
