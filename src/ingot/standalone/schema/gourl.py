"""URLs as Go's `net/url` reads the target of a request: an absolute URI or an absolute path."""

import re
from dataclasses import dataclass
from urllib.parse import quote as percent_quote

from ingot.standalone.goprint import quote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PORT = re.compile(r"(:[0-9]*)?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_USER_INFO = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
# What may stand in a host without an escape; anything beyond ASCII may too.
_BAD_HOST = re.compile(r"""[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff]""")
_PATH_SAFE = "/$&+,:;=@!'()*~%[]"


class URLError(ValueError):
    """Not a URL of a request; the text is Go's."""

    def __init__(self, url: str, fault: str) -> None:
        super().__init__(f"parse {quote(url)}: {fault}")


@dataclass(frozen=True, slots=True)
class URL:
    scheme: str
    host: str
    path: str
    query: str

    @property
    def hostname(self) -> str:
        host = self.host
        if host.startswith("[") and "]" in host:
            return host[1 : host.index("]")]
        return host.partition(":")[0] if _port(host) is not None else host

    @property
    def port(self) -> str:
        return _port(self.host) or ""

    @property
    def escaped_path(self) -> str:
        return percent_quote(self.path, safe=_PATH_SAFE)


def parse_request_uri(text: str) -> URL:
    """Raises URLError; a fragment, which no request has, stays out of path and query."""
    if any(ord(char) < 0x20 or char == "\x7f" for char in text):
        raise URLError(text, "net/url: invalid control character in URL")
    if not text:
        raise URLError(text, "empty url")
    if text == "*":
        return URL("", "", "*", "")
    scheme, rest = _scheme(text)
    rest = rest.partition("#")[0]
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return URL(scheme, "", "", query)
        raise URLError(text, "invalid URI for request")
    host = ""
    if scheme and rest.startswith("//"):
        authority, slash, tail = rest[2:].partition("/")
        host, rest = _authority(text, authority), slash + tail
    _check_escapes(text, rest)
    return URL(scheme, host, rest, query)


def _scheme(text: str) -> tuple[str, str]:
    match = _SCHEME.match(text)
    if match:
        return match[0][:-1].lower(), text[match.end() :]
    if text.startswith(":"):
        raise URLError(text, "missing protocol scheme")
    return "", text


def _authority(text: str, authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER_INFO.fullmatch(user):
        raise URLError(text, "net/url: invalid userinfo")
    if host.startswith("["):
        if "]" not in host:
            raise URLError(text, "missing ']' in host")
        port = host[host.rindex("]") + 1 :]
    else:
        port = host[host.rindex(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise URLError(text, f"invalid port {quote(port)} after host")
    bad = _BAD_HOST.search(host)
    if bad:
        raise URLError(text, f"invalid character {quote(bad[0])} in host name")
    _check_escapes(text, host)
    return host


def _check_escapes(text: str, part: str) -> None:
    bad = _BAD_ESCAPE.search(part)
    if bad:
        raise URLError(text, f"invalid URL escape {quote(part[bad.start() : bad.start() + 3])}")


def _port(host: str) -> str | None:
    tail = host[host.rindex("]") + 1 :] if host.startswith("[") and "]" in host else host
    _, colon, port = tail.rpartition(":")
    return port if colon and _PORT.fullmatch(f":{port}") else None
