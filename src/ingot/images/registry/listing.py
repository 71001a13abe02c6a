"""Lists that a registry gives in pages: tags, repositories."""

import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.reference import is_repository, is_tag
from ingot.images.registry.auth import Scope
from ingot.images.registry.endpoint import Endpoint
from ingot.images.registry.refusal import refusal
from ingot.images.registry.repository import Repository
from ingot.images.registry.response import Response

_PAGE = 1000
_MOST_BYTES = 4 << 20
_MOST_PAGES = 2000
# All pages together, which a caller may want to sort.
_MOST_LIST = 64 << 20
_MOST_SECONDS = 300.0
_NEXT = re.compile(r'<([^<>\s]{1,4096})>\s*;\s*rel="?next"?')


class _Page(msgspec.Struct):
    tags: list[str] | None = None
    repositories: list[str] | None = None


def tags(repository: Repository, subject: str) -> Iterator[str]:
    """All tags, as the registry sorts them. Raises ImageFault."""
    for page in _pages(repository.endpoint, f"{repository.name}/tags/list?n={_PAGE}", repository.scope(), subject):
        yield from _checked(page.tags or [], is_tag, subject)


def repositories(endpoint: Endpoint, subject: str) -> Iterator[str]:
    """All repositories that the registry shows us. Raises ImageFault."""
    for page in _pages(endpoint, f"_catalog?n={_PAGE}", Scope(endpoint.registry, "", ""), subject):
        yield from _checked(page.repositories or [], is_repository, subject)


def _checked(names: list[str], right: Callable[[str], bool], subject: str) -> list[str]:
    """Names are going to be parts of addresses, and are shown."""
    for name in names:
        if not right(name):
            raise ImageFault(subject, "BadAnswer", f"its registry lists {name[:80]!r}, which is no name")
    return names


def _pages(endpoint: Endpoint, path: str, scope: Scope, subject: str) -> Iterator[_Page]:
    seen = set()
    left = _MOST_LIST
    until = time.monotonic() + _MOST_SECONDS
    for _ in range(_MOST_PAGES):
        if time.monotonic() > until:
            message = f"its registry has not sent its list after {_MOST_SECONDS:g} s: name a tag"
            raise ImageFault(subject, "TooSlow", message, retry=True)
        seen.add(path)
        response, body = endpoint.document(path, scope, subject, min(_MOST_BYTES, left))
        left -= len(body)
        if response.status != 200:
            raise refusal(response)
        following = next_page(response, subject)
        try:
            yield msgspec.json.decode(body, type=_Page)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ImageFault(subject, "BadAnswer", f"its registry sends what is no list: {error}") from None
        if not following:
            return
        if following in seen:
            break
        path = following
    raise ImageFault(subject, "BadAnswer", "its registry sends a list without an end")


def next_page(response: Response, subject: str) -> str:
    """The address of the next page; "" after the last one."""
    match = _NEXT.search(response.headers.get("Link", ""))
    if not match:
        return ""
    try:
        return str(urljoin(response.url, match[1]))
    except ValueError:
        raise ImageFault(subject, "BadAnswer", "its registry gives what is no address for the next page") from None
