"""Addresses of web servers, and where a request may be sent on to."""

import ipaddress
import re
import socket
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from ingot.images.fault import ImageFault

_PORTS = {"http": 80, "https": 443}
_LONGEST = 8192
_LONGEST_LABEL = 63
_VISIBLE = re.compile("[!-~]+")


class Origin(NamedTuple):
    """Who answers: nothing that is meant for one may go to another."""

    scheme: str
    host: str
    port: int


def netloc(origin: Origin) -> str:
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    return host if origin.port == _PORTS[origin.scheme] else f"{host}:{origin.port}"


def split(url: str, subject: str) -> tuple[Origin, str]:
    """The server, and what to ask it for. Raises ImageFault for anything but http and https."""
    try:
        return _split(url)
    except ValueError as error:
        raise ImageFault(subject, "BadAddress", str(error)) from None


@lru_cache(1024)
def _split(url: str) -> tuple[Origin, str]:
    # What http.client would refuse, or a proxy could take for a second request.
    if len(url) > _LONGEST or not _VISIBLE.fullmatch(url):
        raise ValueError(f"an address has up to {_LONGEST} characters of ASCII, and no spaces")
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        raise ValueError(f"{scheme[:20] or 'no scheme'} is not accepted: http and https are")
    # What Python would refuse, when it is to look the name up, by an error of another sort.
    if not all(0 < len(label) <= _LONGEST_LABEL for label in parts.hostname.removesuffix(".").split(".")):
        raise ValueError(f"a host has 1 to {_LONGEST_LABEL} characters between its dots")
    if parts.username is not None or parts.password is not None:
        raise ValueError("credentials do not belong into an address")
    path = parts.path or "/"
    origin = Origin(scheme, parts.hostname, parts.port or _PORTS[scheme])
    return origin, f"{path}?{parts.query}" if parts.query else path


def public(url: str) -> str:
    """The address for errors and logs: without query and user, which may be credentials."""
    head, _, _ = url.partition("?")
    scheme, mark, rest = head.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"[:300]


def loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def own(host: str) -> bool:
    """Whether the name means this machine or its link: places that a stranger must not send us to. Of a name that has
    to be looked up only the connection can tell."""
    address = _address(host)
    if address is None:
        return loopback(host)
    return address.is_loopback or address.is_link_local or address.is_unspecified


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Of a host that is written as an address, in any of the ways that a resolver takes; None for a name."""
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        try:
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    return (found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None) or found


def check_redirect(subject: str, came: Origin, to: Origin, plain_allowed: bool) -> None:
    """Raises ImageFault where a server may not send us to that other one."""
    if came.scheme == "https" and to.scheme == "http" and not plain_allowed:
        raise ImageFault(subject, "BadRedirect", f"it leads from https to plain http at {to.host}, which is not safe")
    if own(to.host) and not own(came.host):
        raise sent_home(subject, came, to)


def sent_home(subject: str, came: Origin, to: Origin) -> ImageFault:
    """The fault of a server that sends us to a place of our own."""
    why = f"{came.host} sends us to {to.host}, which is this machine or its link"
    return ImageFault(subject, "BadRedirect", why)
