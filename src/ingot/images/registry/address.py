"""Addresses of web servers, and where a request may be sent on to."""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from ingot.images.fault import ImageFault
from ingot.images.registry.pool import Origin

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192


def split(url: str, subject: str) -> tuple[Origin, str]:
    """The server, and what to ask it for. Raises ImageFault for anything but http and https."""
    parts = _parts(url, subject)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ImageFault(subject, "BadAddress", f"{scheme or 'no scheme'} is not accepted: http and https are")
    if parts.username is not None or parts.password is not None:
        raise ImageFault(subject, "BadAddress", "credentials do not belong into an address")
    path = parts.path or "/"
    return Origin(
        scheme, parts.hostname, parts.port or _PORTS[scheme]
    ), f"{path}?{parts.query}" if parts.query else path


def _parts(url: str, subject: str) -> SplitResult:
    # What http.client would refuse, or a proxy could take for a second request.
    if len(url) > _LONGEST or not url.isascii() or any(letter <= " " or letter == "\x7f" for letter in url):
        raise ImageFault(subject, "BadAddress", f"an address has up to {_LONGEST} characters of ASCII, and no spaces")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ImageFault(subject, "BadAddress", f"an address cannot be read: {error}") from None
    return parts


def public(url: str) -> str:
    """The address for errors and logs: without query and user, which may be credentials."""
    head, _, _ = url.partition("?")
    scheme, mark, rest = head.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"[:300]


def loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def own(host: str) -> bool:
    """Whether the name means this machine or its link: places that a stranger must not send us to."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return loopback(host)
    return address.is_loopback or address.is_link_local or address.is_unspecified


def check_redirect(subject: str, came: Origin, to: Origin, plain_allowed: bool) -> None:
    """Raises ImageFault where a server may not send us to that other one."""
    if came.scheme == "https" and to.scheme == "http" and not plain_allowed:
        raise ImageFault(subject, "BadRedirect", f"it leads from https to plain http at {to.host}, which is not safe")
    if own(to.host) and not own(came.host):
        raise ImageFault(
            subject, "BadRedirect", f"{came.host} sends us to {to.host}, which is this machine or its link"
        )
