"""Taking an image out of a registry: one tag, or the image with all its tags."""

import logging
from concurrent.futures import ThreadPoolExecutor

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry

log = logging.getLogger(__name__)

_THREADS = 8


def remove(registry: Registry, reference: Reference, every_tag: bool = False) -> Digest:
    """Removes a tag, or by a digest the image itself, with what Ingot has attached to it. What it was.

    Many registries can only delete the image itself, which takes all its tags along: where it has others, that is done
    for `every_tag` only. Raises ImageFault.
    """
    # A mirror may be behind, and what it says must not decide what is deleted.
    registry = registry.origin
    if reference.digest:
        return _delete(registry, reference, reference.digest)
    digest = registry.digest(reference)
    if registry.untag(reference):
        return digest
    others = [] if every_tag else other_tags(registry, reference, digest)
    if others:
        names = ", ".join(others[:10]) + (" …" if len(others) > 10 else "")
        raise ImageFault(
            str(reference),
            "OtherTags",
            f"its registry only deletes images with all their tags, and this one has {names}, too: use --all-tags",
        )
    return _delete(registry, reference, digest)


def _delete(registry: Registry, reference: Reference, digest: Digest) -> Digest:
    """What is attached goes first: whoever is interrupted finds the image again, and begins anew."""
    try:
        registry.delete_attached(reference, digest)
    except ImageFault as fault:
        log.warning("what is attached to it stays: %s", fault)
    return registry.delete(reference.at(digest))


def other_tags(registry: Registry, reference: Reference, digest: Digest) -> list[str]:
    """The other tags of that image. Asks the registry for each tag of the repository. Raises ImageFault."""

    def same(tag: str) -> bool:
        try:
            return registry.digest(reference.tagged(tag)) == digest
        except ImageFault as fault:
            if fault.reason != "NotFound":
                raise
            return False

    tags = [tag for tag in registry.tags(reference) if tag != reference.tag]
    with ThreadPoolExecutor(_THREADS) as threads:
        return [tag for tag, found in zip(tags, threads.map(same, tags), strict=True) if found]
