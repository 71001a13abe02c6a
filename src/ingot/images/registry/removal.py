"""Taking an image out of a registry: one tag, or the image with all its tags."""

import logging
from concurrent.futures import ThreadPoolExecutor

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import INDEXES, Index
from ingot.images.registry.repository import Document

log = logging.getLogger(__name__)

_THREADS = 8
# Of one tag, in each other or side by side: nobody has so many.
_MOST_INDEXES = 100


def remove(registry: Registry, reference: Reference, every_tag: bool = False) -> Digest:
    """Removes a tag, or by a digest the image itself, with what Ingot has attached to it. What it was.

    Many registries can only delete the image itself, which takes all its tags along, and leaves indexes without it:
    where other tags need it, that is done for `every_tag` only. Raises ImageFault.
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
            "its registry only deletes images with all their tags, and other tags stand for this one or for an index "
            f"with it: {names}; use --all-tags to take it from them, too",
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
    """The other tags that need that image: they stand for it, or for an index with it. Asks the registry for what each
    tag of the repository stands for. Raises ImageFault."""
    tags = [tag for tag in registry.tags(reference) if tag != reference.tag]
    with ThreadPoolExecutor(_THREADS) as threads:
        found = threads.map(lambda tag: _needs(registry, reference.tagged(tag), digest), tags)
        return [tag for tag, needs in zip(tags, found, strict=True) if needs]


def _needs(registry: Registry, tag: Reference, digest: Digest) -> bool:
    """Whether the tag stands for that image or index, or for an index that leads to it. Raises ImageFault."""
    asked, waiting = 0, [tag]
    while waiting:
        if asked > _MOST_INDEXES:
            message = f"it names more than {_MOST_INDEXES} indexes, too many to see whether {digest} is in one of them"
            raise ImageFault(str(tag), "BadManifest", message)
        asked += 1
        document = _found(registry, waiting.pop(), tag)
        if document is None:
            continue
        entries = document.parsed.manifests if isinstance(document.parsed, Index) else []
        if digest in (document.digest, *(each.digest for each in entries)):
            return True
        waiting += [tag.at(each.digest) for each in entries if each.media_type in INDEXES]
    return False


def _found(registry: Registry, reference: Reference, tag: Reference) -> Document | None:
    """What belongs to the tag; None for what is not there. Raises ImageFault."""
    try:
        return registry.manifest(reference)
    except ImageFault as fault:
        if fault.reason == "NotFound":
            return None
        if fault.reason not in ("BadManifest", "TooLarge"):
            raise
        message = f"{fault.message}. Whether it needs the image cannot be told; --all-tags removes that all the same"
        raise ImageFault(str(tag), fault.reason, message) from fault
