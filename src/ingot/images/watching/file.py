"""The newest version of a file on a web server, by what the server says of it or by a published checksum."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import Self
from urllib.parse import unquote, urlsplit

from ingot.images.fault import ImageFault
from ingot.images.registry.address import public, split
from ingot.images.registry.refusal import refusal
from ingot.images.registry.response import Response
from ingot.images.registry.transport import Request, Transport
from ingot.images.watching.checksums import MOST_BYTES, checksum_of
from ingot.images.watching.version import Version

# What servers say that do not answer HEAD as they would GET: an address may be signed for one of them alone.
_NO_HEAD = frozenset((400, 403, 405, 501))
_LONGEST = 1024


@dataclass(frozen=True, slots=True)
class Visitor:
    """As whom a server is asked: with these headers, which no other server gets to see."""

    transport: Transport
    authorization: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def beside(self, url: str, other: str) -> Self:
        """The same for another address than `url`: a stranger there, unless it is of the same server."""
        if split(url, public(url))[0] == split(other, public(other))[0]:
            return self
        return replace(self, authorization="", headers={})

    def ask(self, method: str, url: str) -> Response:
        """The answer, which may be a refusal. Raises ImageFault."""
        request = Request(method, url, public(url), {}, self.authorization, self.headers)
        return self.transport.request(request)


def newest_file(visitor: Visitor, url: str, checksum_file: str = "", known: Version | None = None) -> Version:
    """What lies behind `url` at present: one HEAD, or one GET of `checksum_file`. Raises ImageFault.

    What has the date and the size of the `known` version is that one, whatever its ETag: the servers behind one name
    often have their own. `known` is of the same address: at another there is another version, as files of one ETag or
    date need not be the same.
    """
    if checksum_file:
        return _by_checksum(visitor, url, checksum_file)
    found = _by_server(visitor, url)
    if known and found.size and (found.name, found.size) == (known.name, known.size):
        return known
    return found


def _by_server(visitor: Visitor, url: str) -> Version:
    response = visitor.ask("HEAD", url)
    if response.status in _NO_HEAD:
        response.discard()
        response = visitor.ask("GET", url)
    if response.status != 200:
        raise refusal(response)
    told = (str(response.headers.get(name, ""))[:_LONGEST] for name in ("ETag", "Last-Modified", "Content-Length"))
    tag, date, size = told
    response.close()
    if not tag and not date:
        message = (
            "its server tells neither ETag nor Last-Modified: name a file of checksums with ingot.io/checksum-file"
        )
        raise ImageFault(public(url), "NoValidator", message)
    digest = hashlib.sha256(f"{url} {tag or date}".encode()).hexdigest()
    return Version(f"sha256:{digest}", _day(date) or digest[:12], size=size)


def _by_checksum(visitor: Visitor, url: str, checksum_file: str) -> Version:
    response = visitor.beside(url, checksum_file).ask("GET", checksum_file)
    if response.status != 200:
        raise refusal(response)
    date = str(response.headers.get("Last-Modified", ""))[:_LONGEST]
    text = response.document(MOST_BYTES).decode(errors="replace")
    checksum = checksum_of(text, unquote(urlsplit(url).path), public(checksum_file))
    digest = checksum.hex if checksum.algorithm == "sha256" else hashlib.sha256(str(checksum).encode()).hexdigest()
    return Version(f"sha256:{digest}", _day(date) or digest[:12], str(checksum))


def _day(date: str) -> str:
    """A date as people sort them; "" for what is none."""
    try:
        return parsedate_to_datetime(date).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, TypeError, OverflowError):
        return ""
