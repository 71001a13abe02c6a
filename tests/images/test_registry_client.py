"""The registry client against a real docker-registry."""

from __future__ import annotations

import os
from collections.abc import Callable

from ingot.images.blob import BlobContent
from ingot.images.content import read
from ingot.images.digest import Digest
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_CONFIG, OCI_MANIFEST, Descriptor, Manifest, encode

LAYER = "application/vnd.oci.image.layer.v1.tar"


def push(client: Registry, reference: Reference, data: bytes) -> tuple[Digest, Descriptor]:
    """An image of one layer with these bytes."""
    config = client.push_blob(reference, [b'{"architecture":"amd64","os":"linux"}'], media_type=OCI_CONFIG)
    layer = client.push_blob(reference, [data], media_type=LAYER)
    raw = encode(Manifest(config=config, layers=[layer]))
    return client.push_manifest(reference, raw, OCI_MANIFEST), layer


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
