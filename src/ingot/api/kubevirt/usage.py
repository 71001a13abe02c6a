"""Usage types: the kinds of local storage that a node offers for copies, as annotations name them."""

from collections.abc import Mapping

PREFIX = "kubevirt.io/storage.usage-type."
# The usage type of copies that name none, and of disks that are made on the spot. Every node offers it.
DEFAULT_USAGE = "default"


def locations(annotations: Mapping[str, str]) -> dict[str, str]:
    """Directory by usage type, out of the annotations of a node's libvirt pod: `{"fast": "/storage/ssd"}`."""
    return {key.removeprefix(PREFIX): path for key, path in annotations.items() if key.startswith(PREFIX) and path}


def annotations(locations: Mapping[str, str]) -> dict[str, str]:
    """The annotations that say which usage types are where."""
    return {f"{PREFIX}{usage}": path for usage, path in locations.items()}
