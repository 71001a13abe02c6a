"""What a schema cannot say of a DataVolume's spec: addresses, sizes and access modes, each with its path."""

import json
import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from ingot.api.object import Object
from ingot.api.status import Cause

ACCESS_MODES: Final = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")

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
    source = spec.get("source", {})
    return [*source_faults(source, f"{path}.source"), *_target_faults(spec, source, path)]


def source_faults(source: Object, path: str) -> Iterator[Cause]:
    """The faults of the addresses in a DataVolume's source that lies at `path`."""
    for name, schemes in _SCHEMES.items():
        if name in source:
            why = _address_fault(source[name]["url"], schemes)
            if why:
                yield _invalid(f"{path}.{name}.url", source[name]["url"], why)
    registry = source.get("registry", {})
    if "url" in registry:
        why = _image_fault(registry["url"], node=registry.get("pullMethod") == "node")
        if why:
            yield _invalid(f"{path}.registry.url", registry["url"], why)


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


def _target_faults(spec: Object, source: Object, path: str) -> Iterator[Cause]:
    for name in ("pvc", "storage"):
        if name not in spec:
            continue
        target = spec[name]
        # An image tells its own size and so does the source of a clone; nothing else does.
        sizeless = name == "storage" and not source.keys() & {"blank", "upload"}
        yield from _size_faults(target, f"{path}.{name}", sizeless=sizeless)
        yield from _mode_faults(target.get("accessModes", []), f"{path}.{name}.accessModes", only=name == "pvc")


def _size_faults(target: Object, path: str, *, sizeless: bool) -> Iterator[Cause]:
    field = f"{path}.resources.requests.storage"
    size = target.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        if not sizeless:
            yield Cause(field, "Required value: the size of the volume is expected", "FieldValueRequired")
    elif not _positive(size):
        yield _invalid(field, size, "a size above zero is expected")


def _mode_faults(modes: list[str], path: str, *, only: bool) -> Iterator[Cause]:
    if only and len(modes) != 1:
        yield _invalid(path, modes, f"exactly one access mode is expected: {_either(ACCESS_MODES)}")
        return
    for index, mode in enumerate(modes):
        if mode not in ACCESS_MODES:
            supported = ", ".join(f'"{each}"' for each in ACCESS_MODES)
            message = f'Unsupported value: "{mode}": supported values: {supported}'
            yield Cause(f"{path}[{index}]", message, "FieldValueNotSupported")


def _positive(quantity: int | str) -> bool:
    """Whether a quantity that matches Kubernetes' pattern is above zero, whatever its unit."""
    number = re.match(r"[+-]?[0-9.]+", str(quantity))
    return number is not None and float(number[0]) > 0


def _either(words: tuple[str, ...] | list[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def _invalid(path: str, value: object, why: str) -> Cause:
    shown = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Cause(path, f"Invalid value: {shown}: {why}", "FieldValueInvalid")
