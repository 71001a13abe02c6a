"""Files behind URLs."""

from collections.abc import Callable, Mapping

from ingot.images.fault import ImageFault
from ingot.images.http_blob import CONTENT_RANGE, HttpBlob
from ingot.images.lengthless_blob import LengthlessBlob, no_length, tells_end
from ingot.images.registry.address import public
from ingot.images.registry.refusal import refusal
from ingot.images.registry.response import Response
from ingot.images.registry.retry import persist
from ingot.images.registry.transport import Request, Transport

# What servers say that do not only lack ranges, but mind being asked for one.
_NO_RANGES = frozenset((400, 405, 416, 501))
# Headers for one request, made anew for each: they may be of short life.
Private = Callable[[], Mapping[str, str]]


def open_url(
    transport: Transport,
    url: str,
    authorization: str = "",
    private: Private = dict,
    *,
    proven: bool = False,
    one_answer: bool = False,
) -> HttpBlob | LengthlessBlob:
    """A file behind a URL; `authorization` is the value of that header. Neither that nor what `private` gives goes to
    another server. `proven`: whoever reads it checks a digest of all of it. `one_answer`: it is read in one, as if the
    server did not tell of which version that is. Raises ImageFault."""
    subject = public(url)

    def fetch(headers: Mapping[str, str]) -> Response:
        return transport.once(Request("GET", url, subject, headers, authorization, private()))

    response = persist(transport.settings, lambda: fetch({"Range": "bytes=0-0"}))
    if response.status in _NO_RANGES and "Content-Range" not in response.headers:
        response.discard()
        response = persist(transport.settings, lambda: fetch({}))
    if response.status == 200 and response.length is None and (proven or tells_end(response)):
        response.close()
        return LengthlessBlob(lambda: persist(transport.settings, lambda: fetch({})), subject, proven=proven)
    size, ranged = _probed(response)
    response.discard()
    validator = "" if one_answer else _validator(response)
    return HttpBlob(fetch, subject, size, transport.settings, validator=validator, ranged=ranged)


def _probed(response: Response) -> tuple[int, bool]:
    """Size, and whether there are ranges, by the answer to a request for the first byte."""
    match = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", "").strip())
    if response.status in (206, 416) and match and match[3] != "*":
        if response.status == 206 and (match[1], match[2]) != ("0", "0"):
            raise ImageFault(response.subject, "BadRange", "its server sends another range than was asked for")
        return int(match[3]), True
    if response.status == 200 and response.length is not None:
        return response.length, False
    if response.status in (200, 206, 416):
        response.close()
        raise no_length(response.subject)
    raise refusal(response)


def _validator(response: Response) -> str:
    """What changes with the content: a strong ETag, or the date of the last change; "" for none."""
    tag: str = response.headers.get("ETag", "")
    if tag.startswith('"') and len(tag) < 1024:
        return tag
    return str(response.headers.get("Last-Modified", ""))[:100]
