"""Addresses of storage that are none: of servers, of what they serve."""

from collections.abc import Callable, Iterator

from ingot.api.kubevirt import uri
from ingot.api.kubevirt.causes import invalid
from ingot.api.object import Object
from ingot.api.status import Cause

# How each field of a source is read, which raises UriError for what cannot be.
_READERS: dict[str, dict[str, Callable[[str], object]]] = {
    "networkVolume": {"uri": uri.parse},
    "http": {"url": uri.parse},
    "iscsi": {
        "targetPortal": lambda text: uri.parse_host(text, default_port=1),
        "iqn": uri.check_target,
        "initiatorName": uri.check_target,
    },
    "nbd": {"host": uri.check_host},
    "gluster": {"host": uri.check_host},
}


def address_faults(volume: Object, path: str) -> Iterator[Cause]:
    """The faults of the addresses in a volume that is found at `path`."""
    for source, readers in _READERS.items():
        for key, read in readers.items():
            if text := (volume.get(source) or {}).get(key):
                yield from _fault_of(f"{path}.{source}.{key}", text, read)
    for index, monitor in enumerate(volume.get("rbd", {}).get("monitors") or ()):
        yield from _fault_of(f"{path}.rbd.monitors[{index}]", monitor, lambda text: uri.parse_host(text, 1))
    if "/" in (volume.get("gluster") or {}).get("volume", ""):
        yield invalid(f"{path}.gluster.volume", volume["gluster"]["volume"], "has no slash; directories belong to path")


def _fault_of(field: str, text: str, read: Callable[[str], object]) -> Iterator[Cause]:
    try:
        read(text)
    except uri.UriError as fault:
        yield invalid(field, text, fault.why)
