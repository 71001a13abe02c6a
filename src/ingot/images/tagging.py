"""What a tag stands for after a push: one image, or an index of images for several platforms."""

from dataclasses import dataclass, field

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.contest import outlast
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST, Descriptor, Index, Manifest, Platform, encode
from ingot.images.registry.platform import is_same
from ingot.images.registry.repository import Document


def tag_image(registry: Registry, reference: Reference, raw: bytes, entry: Descriptor, index: bool) -> Digest:
    """Pushes the manifest `raw`, which `entry` describes, under the reference's tag; with `index`, in an index there,
    beside the images for other platforms. What the tag names then. Raises ImageFault."""
    if not index:
        return registry.push_manifest(reference, raw, OCI_MANIFEST)
    registry.push_manifest(reference.at(entry.digest), raw, OCI_MANIFEST)
    joining = _Joining(registry, reference, entry)
    return outlast(joining.change, joining.settled, str(reference))


@dataclass(frozen=True, slots=True)
class _Joining:
    """An image on its way into the index of a tag, into which others push for other platforms. `replaced`: what was
    there for its own platform before."""

    registry: Registry
    reference: Reference
    entry: Descriptor
    replaced: set[Digest] = field(default_factory=set)

    def change(self) -> None:
        present = self._present()[1]
        others = [each for each in present if not self._is_rival(each)]
        self.replaced.update(each.digest for each in present if self._is_rival(each))
        self.registry.push_manifest(self.reference, encode(Index(manifests=[*others, self.entry])), OCI_INDEX)

    def settled(self) -> Digest | None:
        """What the tag names, where our image is in it, or a later one for the same platform."""
        digest, present = self._present()
        there = {each.digest for each in present if self._is_rival(each)}
        return digest if self.entry.digest in there or there - self.replaced else None

    def _is_rival(self, other: Descriptor) -> bool:
        return is_same(other.platform, self.entry.platform)

    def _present(self) -> tuple[Digest | None, list[Descriptor]]:
        """What is at the reference: an index with its entries, or one image without an index."""
        try:
            document = self.registry.manifest(self.reference)
        except ImageFault as fault:
            if fault.reason != "NotFound":
                raise
            return None, []
        if isinstance(document.parsed, Index):
            return document.digest, document.parsed.manifests
        return document.digest, [_described(self.registry, self.reference, document, document.parsed)]


def _described(registry: Registry, reference: Reference, document: Document, manifest: Manifest) -> Descriptor:
    config = registry.config(registry.resolve(reference.at(document.digest)))
    platform = Platform(os=config.os, architecture=config.architecture, variant=config.variant)
    return Descriptor(
        media_type=manifest.media_type or document.media_type,
        digest=document.digest,
        size=len(document.raw),
        platform=platform,
    )
