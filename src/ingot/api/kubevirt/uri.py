"""Addresses of network volumes: one parser for admission, which refuses, and for the node, which connects."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from ingot.api.kubevirt.text_faults import UNPRINTABLE

DEFAULT_PORTS = {
    "nbd": 10809,
    "nbds": 10809,
    "iscsi": 3260,
    "rbd": 6789,
    "gluster": 24007,
    "http": 80,
    "https": 443,
}

_PARTS = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$")
_HOST = re.compile(r"^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?))(?::([0-9]+))?$")
_IQN = re.compile(r"^(?:iqn\.\d{4}-\d{2}\.[^\s/]+|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]+)$")


class UriError(ValueError):
    """An address that is not one: `uri` as given, and `why`, which says what would be accepted."""

    def __init__(self, uri: str, why: str) -> None:
        super().__init__(why)
        self.uri = uri
        self.why = why


@dataclass(frozen=True, slots=True)
class HostPort:
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A parsed address.

    `name` is what the protocol calls the thing: an NBD export, an iSCSI target, `pool/image` of RBD, `volume/path` of
    Gluster, or the path and query of a URL as they go into the request. Only RBD has several hosts; only iSCSI a lun.
    """

    scheme: str
    hosts: tuple[HostPort, ...]
    name: str
    lun: int = 0

    @property
    def tls(self) -> bool:
        return self.scheme in ("nbds", "https")


def parse(uri: str) -> Endpoint:
    """Reads an address; letters keep their case. Raises UriError."""
    matched = _PARTS.match(uri)
    if matched is None or re.search(r"\s", uri) or UNPRINTABLE.search(uri):
        raise UriError(uri, "must be scheme://host/name without spaces, such as nbd://host/export")
    scheme, authority, path, query, fragment = matched.groups()
    scheme = scheme.lower()
    if scheme not in DEFAULT_PORTS:
        raise UriError(uri, f"scheme {scheme!r} is not known; it must be one of {', '.join(DEFAULT_PORTS)}")
    if fragment:
        raise UriError(uri, "must not have a fragment (#…)")
    if query and scheme not in ("http", "https"):
        raise UriError(uri, f"must not have a query (?…) with {scheme}")
    hosts = _hosts(uri, scheme, authority)
    name, lun = _NAMES[scheme](uri, path + (query or ""))
    if UNPRINTABLE.search(name):
        raise UriError(uri, "must not hold control characters, such as %00 or %0A, in its name")
    return Endpoint(scheme, hosts, name, lun)


def parse_host(text: str, default_port: int) -> HostPort:
    """`host`, `host:port` or `[v6]:port`. Raises UriError."""
    matched = _HOST.match(text)
    if matched is None:
        raise UriError(text, f"host {text!r} must be a name or an address, with :port if it is not the usual one")
    six, name, port = matched.groups()
    number = default_port if port is None else int(port)
    if not 0 < number < 65536:
        raise UriError(text, f"port {number} must be between 1 and 65535")
    return HostPort(six or name, number)


def check_host(text: str) -> None:
    """A host by itself: a name, or an address as it is written without brackets. Raises UriError."""
    matched = _HOST.match(text)
    if (matched is None or not matched[2] or matched[3]) and not _is_address(text):
        raise UriError(text, f"host {text!r} must be a name or an address; the port has a field of its own")


def check_target(name: str) -> None:
    """The name of an iSCSI target or initiator. Raises UriError."""
    if not _IQN.match(name):
        raise UriError(name, f"{name!r} must be an iqn., eui. or naa. name, such as iqn.2017-01.io.example:disk")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _hosts(uri: str, scheme: str, authority: str) -> tuple[HostPort, ...]:
    if "@" in authority:
        raise UriError(uri, "must not hold credentials; they belong in the Secret that secretRef names")
    if not authority:
        raise UriError(uri, f"needs a host, as in {scheme}://host/name")
    texts = authority.split(",") if scheme == "rbd" else [authority]
    try:
        return tuple(parse_host(text, DEFAULT_PORTS[scheme]) for text in texts)
    except UriError as fault:
        raise UriError(uri, fault.why) from None


def _export(_uri: str, path: str) -> tuple[str, int]:
    # Everything after the first slash is the name: exports may be nested, and empty is the server's default one.
    return unquote(path[1:]), 0


def _target(uri: str, path: str) -> tuple[str, int]:
    target, slash, lun = path[1:].partition("/")
    target = unquote(target)
    if not _IQN.match(target):
        raise UriError(uri, f"target {target!r} must be an iqn., eui. or naa. name, as in iscsi://host/iqn…/lun")
    if slash and not (lun.isascii() and lun.isdigit() and int(lun) < 16384):
        raise UriError(uri, f"lun {lun!r} must be a number below 16384")
    return target, int(lun) if slash else 0


def _image(uri: str, path: str) -> tuple[str, int]:
    parts = [unquote(part) for part in path[1:].split("/")]
    if len(parts) not in (2, 3) or not all(parts):
        raise UriError(uri, "must name a pool and an image, as in rbd://monitor/pool/image")
    return "/".join(parts), 0


def _file(uri: str, path: str) -> tuple[str, int]:
    volume, _, below = path[1:].partition("/")
    if not volume or not below:
        raise UriError(uri, "must name a volume and a file, as in gluster://host/volume/path")
    return f"{unquote(volume)}/{unquote(below)}", 0


def _request(_uri: str, path: str) -> tuple[str, int]:
    return path if path.startswith("/") else f"/{path}", 0


_NAMES: dict[str, Callable[[str, str], tuple[str, int]]] = {
    "nbd": _export,
    "nbds": _export,
    "iscsi": _target,
    "rbd": _image,
    "gluster": _file,
    "http": _request,
    "https": _request,
}
