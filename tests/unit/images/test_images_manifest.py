"""Manifests and indexes: what is written is read, and nothing breaks the reader."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.manifest import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    INDEXES,
    MANIFESTS,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    Index,
    Manifest,
    Platform,
    decode,
    encode,
)
from ingot.images.registry.platform import choose, own_platform

texts = st.text(max_size=20)
digests = st.binary(min_size=32, max_size=32).map(lambda raw: Digest("sha256", raw.hex()))
notes = st.none() | st.dictionaries(texts, texts, max_size=3)
platforms = st.builds(Platform, architecture=texts, os=texts, variant=texts)
descriptors = st.builds(
    Descriptor,
    media_type=texts,
    digest=digests,
    size=st.integers(0, 1 << 50),
    annotations=notes,
    artifact_type=texts,
    platform=st.none() | platforms,
)
manifests = st.builds(
    Manifest,
    config=descriptors,
    layers=st.lists(descriptors, max_size=4),
    media_type=st.sampled_from(("", *MANIFESTS)),
    artifact_type=texts,
    subject=st.none() | descriptors,
    annotations=notes,
)
indexes = st.builds(
    Index,
    manifests=st.lists(descriptors, max_size=4),
    media_type=st.sampled_from(("", *INDEXES)),
    subject=st.none() | descriptors,
    annotations=notes,
)


@given(manifests | indexes)
def test_what_is_written_is_read(document: Manifest | Index) -> None:
    raw = encode(document)
    found = decode(raw, "", "x")
    kind = document.media_type or (OCI_MANIFEST if isinstance(document, Manifest) else OCI_INDEX)
    assert found == msgspec.structs.replace(document, schema_version=2, media_type=kind)
    assert encode(found) == raw


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
KEYS = ("schemaVersion", "mediaType", "config", "layers", "manifests", "subject", "digest", "size", "annotations")


documents = st.dictionaries(st.sampled_from(KEYS), json_values | st.just(2), max_size=6)


@given(
    st.binary(max_size=200) | documents.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(("", "text/plain", *MANIFESTS, *INDEXES)),
)
def test_nothing_breaks_the_reader(raw: bytes, media_type: str) -> None:
    try:
        found = decode(raw, media_type, "x")
    except ImageFault:
        return
    assert encode(found)


def test_what_others_write() -> None:
    digest = str(Digest.of(b""))
    layer = {"mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip", "size": 32, "digest": digest}
    manifest = {"schemaVersion": 2, "mediaType": DOCKER_MANIFEST, "config": layer, "layers": [layer], "more": [{}]}
    found = decode(json.dumps(manifest).encode(), DOCKER_MANIFEST, "x")
    assert isinstance(found, Manifest)
    assert str(found.layers[0].digest) == digest
    # OCI once had no mediaType within: then the registry's word counts, or what is in it.
    del manifest["mediaType"]
    assert isinstance(decode(json.dumps(manifest).encode(), f"{OCI_MANIFEST}; charset=utf-8", "x"), Manifest)
    index = {"schemaVersion": 2, "manifests": [layer | {"platform": {"os": "linux", "architecture": "amd64", "x": 1}}]}
    assert isinstance(decode(json.dumps(index).encode(), DOCKER_INDEX, "x"), Index)
    assert isinstance(decode(json.dumps(index).encode(), "application/json", "x"), Index)


_ENTRY = {"mediaType": OCI_MANIFEST, "size": 32, "digest": str(Digest.of(b""))}
_IMAGE = {"schemaVersion": 2, "config": _ENTRY, "layers": [_ENTRY]}


@pytest.mark.parametrize("told", [OCI_MANIFEST, OCI_INDEX, "application/json", ""])
@pytest.mark.parametrize("own", ["", OCI_MANIFEST, OCI_INDEX])
@pytest.mark.parametrize("left_out", ["", "config", "layers"])
def test_what_is_an_image_and_an_index_is_refused(told: str, own: str, left_out: str) -> None:
    """One digest would be two images, as the registry calls it the one or the other."""
    both = {**_IMAGE, "manifests": [_ENTRY], **({"mediaType": own} if own else {})}
    both.pop(left_out, None)
    with pytest.raises(ImageFault, match="fields of an image and of an index") as caught:
        decode(json.dumps(both).encode(), told, "x")
    assert caught.value.reason == "BadManifest"


@pytest.mark.parametrize(
    ("document", "own", "told"),
    [
        (_IMAGE, DOCKER_MANIFEST, OCI_INDEX),
        ({"schemaVersion": 2, "manifests": []}, OCI_INDEX, f"{OCI_MANIFEST}; charset=utf-8"),
    ],
)
def test_what_its_registry_calls_something_else_is_refused(document: dict[str, object], own: str, told: str) -> None:
    with pytest.raises(ImageFault, match="its registry calls it") as caught:
        decode(json.dumps({**document, "mediaType": own}).encode(), told, "x")
    assert caught.value.reason == "BadManifest"


def index_of(*names: str | None) -> Index:
    entries = []
    for number, name in enumerate(names):
        os, architecture, variant = [*(name or "").split("/"), "", ""][:3]
        platform = Platform(os=os, architecture=architecture, variant=variant) if name else None
        entries.append(
            Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(bytes([number])), size=1, platform=platform)
        )
    return Index(manifests=entries)


def test_the_choice_of_a_platform() -> None:
    amd64, arm = Platform(os="linux", architecture="amd64"), Platform(os="linux", architecture="arm", variant="v7")
    index = index_of("windows/amd64", "linux/amd64", "linux/arm/v6", "linux/arm/v7", "unknown/unknown")
    assert choose(index, amd64, "x") is index.manifests[1]
    assert choose(index, arm, "x") is index.manifests[3]
    with pytest.raises(ImageFault) as caught:
        choose(index, Platform(os="linux", architecture="riscv64"), "x")
    assert "linux/arm/v7, windows/amd64" in caught.value.message
    assert "unknown" not in caught.value.message
    only = index_of(None)
    assert choose(only, amd64, "x") is only.manifests[0]
    for none in (index_of(), index_of(None, None)):
        with pytest.raises(ImageFault, match="none for any platform"):
            choose(none, amd64, "x")
    assert own_platform().os == "linux"
