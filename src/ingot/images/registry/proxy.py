"""The proxy between us and a server, where the environment names one (https_proxy, http_proxy, no_proxy)."""

import base64
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from ingot.images.fault import ImageFault
from ingot.images.registry.address import loopback

_PORT = 3128


@dataclass(frozen=True, slots=True)
class Proxy:
    """`headers` hold its credentials, which are for it alone."""

    host: str
    port: int
    headers: dict[str, str]


def proxy_for(scheme: str, host: str, port: int) -> Proxy | None:
    """Raises ImageFault for a proxy that cannot be used."""
    if loopback(host):
        return None
    # It takes long to load.
    import urllib.request

    address = urllib.request.getproxies_environment().get(scheme)
    if not address or urllib.request.proxy_bypass_environment(f"{host}:{port}"):  # type: ignore[attr-defined]
        return None
    try:
        parts = urlsplit(address if "//" in address else f"http://{address}")
        found = parts.port or _PORT
    except ValueError:
        raise _bad(scheme) from None
    if parts.scheme != "http" or not parts.hostname:
        raise _bad(scheme)
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(parts.hostname, found, headers)


def _bad(scheme: str) -> ImageFault:
    return ImageFault(f"{scheme}_proxy", "BadProxy", "it names no proxy: http://HOST:PORT is accepted")
