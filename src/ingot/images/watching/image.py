"""The newest version of an image in a registry."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from ingot.images.fault import ImageFault
from ingot.images.reference import DEFAULT_TAG, Reference
from ingot.images.registry.client import Registry
from ingot.images.watching.semver import newest
from ingot.images.watching.version import Version

# Tags that are told where none can be chosen.
_NAMED = 5
# Of a repository whose newest tag is looked for, again and again.
_MOST_TAGS = 100_000


def newest_image(registry: Registry, url: str, known: Version | None, *, prereleases: bool = False) -> Version:
    """What `url` stands for at present, with one request where that is `known` already. Raises ImageFault.

    A tag is followed wherever it moves. Without a tag it is the newest release by semver among all tags; tags of
    releases do not move, so one that is known is not asked for. Where no tag is a version it is `latest`: tags are
    listed and `latest` is asked for by turns, so that the second look finds whichever has changed.
    """
    reference = Reference.parse(url)
    if reference.digest:
        return Version(str(reference.digest), reference.tag or reference.digest.hex[:12])
    if is_tagged(url):
        return Version(str(registry.digest(reference)), reference.target)
    if known and known.name == DEFAULT_TAG and known.listed:
        if _digest(registry, reference) == known.digest:
            return replace(known, listed=False)
        known = None
    tag = newest(_tags(registry, reference), prereleases=prereleases) or DEFAULT_TAG
    if known and known.name == tag:
        return replace(known, listed=True)
    try:
        return Version(str(registry.digest(reference.tagged(tag))), tag, listed=True)
    except ImageFault as fault:
        if tag != DEFAULT_TAG or fault.reason != "NotFound":
            raise
        raise _no_version(reference, registry.tags(reference), prereleases) from fault


def _tags(registry: Registry, reference: Reference) -> Iterator[str]:
    for number, tag in enumerate(registry.tags(reference)):
        if number == _MOST_TAGS:
            message = f"it has more than {_MOST_TAGS} tags, too many to choose the newest of: name a tag"
            raise ImageFault(reference.name, "TooManyTags", message)
        yield tag


def is_tagged(url: str) -> bool:
    """Whether a reference names a tag. Raises ImageFault for what is no reference."""
    try:
        Reference.repository_of(url)
    except ImageFault:
        return True
    return False


def _no_version(reference: Reference, tags: Iterable[str], prereleases: bool) -> ImageFault:
    what = "version" if prereleases else "release"
    some = " or ".join(islice(tags, _NAMED)) or "one that is pushed first"
    why = f"no tag is a {what} of three numbers, such as 1.2.0, and none is {DEFAULT_TAG}"
    return ImageFault(reference.name, "NotFound", f"{why}: name a tag, such as {some}")


def _digest(registry: Registry, reference: Reference) -> str:
    """Of `latest`; "" where that has gone."""
    try:
        return str(registry.digest(reference.tagged(DEFAULT_TAG)))
    except ImageFault as fault:
        if fault.reason != "NotFound":
            raise
        return ""
