"""What a schema cannot say of the sources of volumes, each fault with its path: addresses, images and headers."""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from ingot.api.cdi.target_faults import invalid, target_faults
from ingot.api.header import header_fault
from ingot.api.object import Object
from ingot.api.status import Cause

_WEB: Final = ("http", "https")
_SCHEMES: Final = {
    "http": _WEB,
    "imageio": _WEB,
    "vddk": _WEB,
    "s3": ("s3", *_WEB),
    "gcs": ("gs", *_WEB),
    "nbd": ("nbd", "nbds"),
}

# As the distribution specification has it: [host[:port]/]name[:tag][@digest].
_REFERENCE: Final = re.compile(
    r"(?:(?:[a-zA-Z0-9.-]+|\[[0-9a-fA-F:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127})?"
    r"(?:@[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,})?"
)


def volume_faults(spec: Object, path: str) -> list[Cause]:
    """The faults of a DataVolume's spec that lies at `path` and that its schema accepts."""
    return [*source_faults(spec.get("source", {}), f"{path}.source"), *target_faults(spec, path)]


def source_faults(source: Object, path: str) -> Iterator[Cause]:
    """The faults of a source that lies at `path`, of a DataVolume or of an import."""
    for name, schemes in _SCHEMES.items():
        if name in source:
            why = _address_fault(source[name]["url"], schemes)
            if why:
                yield invalid(f"{path}.{name}.url", source[name]["url"], why)
    registry = source.get("registry", {})
    if "url" in registry:
        why = _image_fault(registry["url"], node=registry.get("pullMethod") == "node")
        if why:
            yield invalid(f"{path}.registry.url", registry["url"], why)
    yield from _header_faults(source.get("http", {}).get("extraHeaders", ()), f"{path}.http.extraHeaders")


def _header_faults(headers: Sequence[str], path: str) -> Iterator[Cause]:
    for index, header in enumerate(headers):
        # It may well be a credential: the fault is told without it.
        if why := header_fault(header):
            yield Cause(f"{path}[{index}]", f"Invalid value: {why}", "FieldValueInvalid")


def _address_fault(url: str, schemes: tuple[str, ...]) -> str:
    expected = f"an address that starts with {_either([f'{scheme}://' for scheme in schemes])} is expected"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"{error}; {expected}"
    if parts.scheme not in schemes:
        return expected
    if not host or re.search(r"\s", url):
        return f"{expected}, with a host"
    return ""


def _image_fault(url: str, *, node: bool) -> str:
    scheme, _, rest = url.partition("://")
    if scheme == "docker":
        if _REFERENCE.fullmatch(rest):
            return ""
        return "an image reference is expected after docker://, as registry.example/name:tag"
    if scheme == "oci-archive" and not node:
        return "" if rest.strip("/") else "the path of an archive is expected after oci-archive://"
    accepted = "docker://" if node else "docker:// or oci-archive://"
    return f"an address that starts with {accepted} is expected"


def _either(words: tuple[str, ...] | list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
