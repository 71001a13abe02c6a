"""Manifests and indexes of OCI and Docker: what an image is made of."""

from typing import Any

import msgspec

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
OCI_EMPTY = "application/vnd.oci.empty.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
MANIFESTS = (OCI_MANIFEST, DOCKER_MANIFEST)
INDEXES = (OCI_INDEX, DOCKER_INDEX)
# As large as registries accept.
MOST_BYTES = 4 << 20
_MOST_LAYERS = 1024
_MOST_ENTRIES = 4096
_MOST_SIZE = 1 << 50


class _Json(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A part of a manifest; what it does not know is left aside."""


class Platform(_Json, frozen=True):
    architecture: str
    os: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


class Descriptor(_Json, frozen=True):
    """Something in a registry, by its digest."""

    media_type: str
    digest: Digest
    size: int
    annotations: dict[str, str] | None = None
    artifact_type: str = ""
    platform: Platform | None = None
    urls: list[str] | None = None

    def note(self, name: str) -> str:
        """An annotation; "" where there is none."""
        return (self.annotations or {}).get(name, "")


class Manifest(_Json, frozen=True):
    """One image."""

    config: Descriptor
    layers: list[Descriptor]
    schema_version: int = 0
    media_type: str = ""
    artifact_type: str = ""
    subject: Descriptor | None = None
    annotations: dict[str, str] | None = None


class Index(_Json, frozen=True):
    """Several images, one for each platform, or the referrers of one."""

    manifests: list[Descriptor]
    schema_version: int = 0
    media_type: str = ""
    artifact_type: str = ""
    subject: Descriptor | None = None
    annotations: dict[str, str] | None = None


class _Head(_Json, frozen=True):
    schema_version: int = 0
    media_type: str = ""
    manifests: msgspec.Raw = msgspec.Raw(b"")
    layers: msgspec.Raw = msgspec.Raw(b"")
    config: msgspec.Raw = msgspec.Raw(b"")


def encode(document: Manifest | Index) -> bytes:
    """The bytes to push, with the versions and types that registries want to see."""
    media_type = document.media_type or (OCI_MANIFEST if isinstance(document, Manifest) else OCI_INDEX)
    return msgspec.json.encode(
        msgspec.structs.replace(document, schema_version=2, media_type=media_type), enc_hook=_to_json
    )


def decode(data: bytes, media_type: str, subject: str) -> Manifest | Index:
    """Reads a manifest or an index; `media_type` is what the registry calls it, and counts where it does not say so
    itself. What could be taken for either, and so be two images by one digest, is refused. Raises ImageFault."""
    if len(data) > MOST_BYTES:
        raise ImageFault(subject, "TooLarge", f"a manifest has at most {MOST_BYTES} bytes; this has {len(data)}")
    try:
        head = msgspec.json.decode(data, type=_Head)
        told = media_type.partition(";")[0].strip()
        kind = head.media_type or told
        if head.schema_version != 2:
            raise _bad(subject, f"it is of schema version {head.schema_version}; 2 is accepted: push it again")
        _check_kind(head, told, subject)
        if kind in INDEXES or (kind not in MANIFESTS and bytes(head.manifests)):
            return _checked_index(msgspec.json.decode(data, type=Index, dec_hook=_from_json), subject)
        return _checked_manifest(msgspec.json.decode(data, type=Manifest, dec_hook=_from_json), subject)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(subject, str(error)) from None


def _check_kind(head: _Head, told: str, subject: str) -> None:
    if bytes(head.manifests) and (bytes(head.layers) or bytes(head.config)):
        raise _bad(subject, "it has the fields of an image and of an index; only those of one are accepted")
    for kinds, others in ((MANIFESTS, INDEXES), (INDEXES, MANIFESTS)):
        if head.media_type in kinds and told in others:
            raise _bad(subject, f"it says that it is {head.media_type}, and its registry calls it {told}")


def _checked_manifest(manifest: Manifest, subject: str) -> Manifest:
    if len(manifest.layers) > _MOST_LAYERS:
        raise _bad(subject, f"it has {len(manifest.layers)} layers; at most {_MOST_LAYERS} are accepted")
    for descriptor in (manifest.config, *manifest.layers):
        _check(descriptor, subject)
    return manifest


def _checked_index(index: Index, subject: str) -> Index:
    if len(index.manifests) > _MOST_ENTRIES:
        raise _bad(subject, f"it lists {len(index.manifests)} manifests; at most {_MOST_ENTRIES} are accepted")
    for descriptor in index.manifests:
        _check(descriptor, subject)
    return index


def _check(descriptor: Descriptor, subject: str) -> None:
    if not 0 <= descriptor.size <= _MOST_SIZE:
        raise _bad(subject, f"{descriptor.digest} is said to have {descriptor.size} bytes")


def _from_json(kind: type, value: Any) -> Any:
    if kind is not Digest or not isinstance(value, str):
        raise ValueError("a digest is a text")
    try:
        return Digest.parse(value)
    except ImageFault as fault:
        raise ValueError(str(fault)) from None


def _to_json(value: Any) -> str:
    return str(value)


def _bad(subject: str, why: str) -> ImageFault:
    return ImageFault(subject, "BadManifest", f"its manifest cannot be used: {why}")
