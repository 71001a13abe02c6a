"""What a tag stands for after a push: one image, or an index of images for several platforms."""

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST, Descriptor, Index, Manifest, Platform, encode
from ingot.images.registry.repository import Document


def tag_image(registry: Registry, reference: Reference, raw: bytes, entry: Descriptor, index: bool) -> Digest:
    """Pushes the manifest `raw`, which `entry` describes, under the reference's tag; with `index`, in an index there,
    beside the images for other platforms. What the tag names then. Raises ImageFault."""
    if not index:
        return registry.push_manifest(reference, raw, OCI_MANIFEST)
    others = [each for each in _present(registry, reference) if not _same(each.platform, entry.platform)]
    registry.push_manifest(reference.at(entry.digest), raw, OCI_MANIFEST)
    return registry.push_manifest(reference, encode(Index(manifests=[*others, entry])), OCI_INDEX)


def _present(registry: Registry, reference: Reference) -> list[Descriptor]:
    """What an index at the reference should keep: its entries, or the one image that is there without an index."""
    try:
        document = registry.manifest(reference)
    except ImageFault as fault:
        if fault.reason != "NotFound":
            raise
        return []
    if isinstance(document.parsed, Index):
        return document.parsed.manifests
    return [_described(registry, reference, document, document.parsed)]


def _described(registry: Registry, reference: Reference, document: Document, manifest: Manifest) -> Descriptor:
    config = registry.config(registry.resolve(reference.at(document.digest)))
    platform = Platform(os=config.os, architecture=config.architecture, variant=config.variant)
    return Descriptor(
        media_type=manifest.media_type or document.media_type,
        digest=document.digest,
        size=len(document.raw),
        platform=platform,
    )


def _same(one: Platform | None, other: Platform | None) -> bool:
    return str(one) == str(other)
