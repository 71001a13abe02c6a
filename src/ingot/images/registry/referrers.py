"""Referrers: what was attached to an image, such as the trace of its boot.

A registry that knows them has an API. For others the specification has a tag named after the image's digest, whose
index lists them; whoever pushes a referrer keeps that.
"""

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.contest import outlast
from ingot.images.registry.listing import next_page
from ingot.images.registry.manifest import MOST_BYTES, OCI_INDEX, Descriptor, Index, decode, encode
from ingot.images.registry.refusal import refusal
from ingot.images.registry.repository import Document, Repository

# What the types of all that Ingot attaches begin with.
OURS = "application/vnd.ingot."
_MOST_PAGES = 100
# All pages together, most of which may be annotations: these take many times as much memory.
_MOST_LIST = 16 << 20
_MOST_FOUND = 4096


def referrers(repository: Repository, digest: Digest, artifact_type: str, subject: str) -> list[Descriptor]:
    """Those of that type, or all for "". Raises ImageFault."""
    found = _by_api(repository, digest, artifact_type, subject)
    return _of_type(_by_tag(repository, digest, subject), artifact_type) if found is None else found


def _of_type(listed: list[Descriptor], artifact_type: str) -> list[Descriptor]:
    return [each for each in listed if not artifact_type or each.artifact_type == artifact_type]


def _by_api(repository: Repository, digest: Digest, artifact_type: str, subject: str) -> list[Descriptor] | None:
    """None where the registry has no such API."""
    found: list[Descriptor] = []
    left = _MOST_LIST
    path = f"{repository.name}/referrers/{digest}"
    for _ in range(_MOST_PAGES):
        response, body = repository.endpoint.document(
            path, repository.scope(), subject, min(MOST_BYTES, left), {"Accept": OCI_INDEX}
        )
        left -= len(body)
        if response.status in (400, 404, 405):
            response.discard()
            return None
        if response.status != 200:
            raise refusal(response)
        media_type = response.headers.get("Content-Type", "")
        following = next_page(response, subject)
        page = decode(body, media_type, subject)
        if not isinstance(page, Index):
            raise ImageFault(subject, "BadAnswer", "its registry lists referrers in what is no index")
        found += _of_type(page.manifests, artifact_type)
        if len(found) > _MOST_FOUND:
            raise ImageFault(subject, "BadAnswer", f"its registry lists more than {_MOST_FOUND} referrers of a kind")
        if not following:
            return found
        path = following
    raise ImageFault(subject, "BadAnswer", f"its registry lists referrers on more than {_MOST_PAGES} pages")


def _by_tag(repository: Repository, digest: Digest, subject: str) -> list[Descriptor]:
    document = _list(repository, digest, subject)
    return document.parsed.manifests if document and isinstance(document.parsed, Index) else []


def _list(repository: Repository, digest: Digest, subject: str) -> Document | None:
    """What an image's tag names."""
    try:
        return repository.manifest(_tag(digest), subject)
    except ImageFault as fault:
        if fault.reason != "NotFound":
            raise
        return None


def attach_by_tag(repository: Repository, image: Digest, referrer: Descriptor, subject: str) -> None:
    """Lists a referrer under the image's tag, beside those that others attach at the same time. Raises ImageFault."""

    def change() -> None:
        others = [each for each in _by_tag(repository, image, subject) if each.digest != referrer.digest]
        _put(repository, image, [*others, referrer], subject)

    def settled() -> Descriptor | None:
        return next((each for each in _by_tag(repository, image, subject) if each.digest == referrer.digest), None)

    outlast(change, settled, subject)


def remove(repository: Repository, image: Digest, referrer: Digest, subject: str) -> None:
    """Deletes a referrer, and takes it off the image's tag, where it is listed. Raises ImageFault."""
    try:
        repository.delete(referrer, subject)
    except ImageFault as fault:
        # Whoever was to delete it before us may have been killed before it was off the list.
        if fault.reason != "NotFound":
            raise
    _detach_by_tag(repository, image, referrer, subject)


def _detach_by_tag(repository: Repository, image: Digest, referrer: Digest, subject: str) -> None:
    """Others who had read the list before put the referrer back into it, when they attach theirs."""

    def change() -> None:
        document = _list(repository, image, subject)
        if document is None or not isinstance(document.parsed, Index):
            return
        left = [each for each in document.parsed.manifests if each.digest != referrer]
        if not left:
            repository.delete(document.digest, subject)
        elif len(left) < len(document.parsed.manifests):
            _put(repository, image, left, subject)

    def settled() -> bool | None:
        return None if any(each.digest == referrer for each in _by_tag(repository, image, subject)) else True

    if not settled():
        outlast(change, settled, subject)


def _put(repository: Repository, image: Digest, listed: list[Descriptor], subject: str) -> None:
    raw = encode(Index(media_type=OCI_INDEX, manifests=listed))
    repository.put(_tag(image), raw, OCI_INDEX, subject)


def _tag(digest: Digest) -> str:
    return f"{digest.algorithm}-{digest.hex}"[:128]
