"""Which image of an index is for a machine."""

import platform

from ingot.images.fault import ImageFault
from ingot.images.registry.config import Config
from ingot.images.registry.manifest import Descriptor, Index, Platform

# What kernels and distributions call them.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "armhf": "arm", "i386": "386", "i686": "386"}
# The variants that are meant where none is named.
_USUAL_VARIANTS = {"amd64": "v1", "arm64": "v8", "arm": "v7"}


def parse_platform(text: str) -> Platform:
    """Reads OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT; an architecture may be called as kernels call it. Raises
    ImageFault."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.replace("_", "").isalnum() for part in parts):
        raise ImageFault(
            text[:80], "BadPlatform", "this is no platform: OS/ARCHITECTURE is accepted, such as linux/arm64"
        )
    architecture = _ARCHITECTURES.get(parts[1], parts[1])
    return Platform(os=parts[0], architecture=architecture, variant=parts[2] if len(parts) == 3 else "")


def own_platform() -> Platform:
    """That of this machine. Disks are for its architecture; the system in them is not known to a registry."""
    machine = platform.machine()
    return Platform(os="linux", architecture=_ARCHITECTURES.get(machine, machine))


def choose(index: Index, wanted: Platform, subject: str) -> Descriptor:
    """The first image for that platform; the only one, where it does not say what it is for. Raises ImageFault."""
    suitable = [each for each in index.manifests if each.platform and _suits(each.platform, wanted)]
    if suitable:
        return suitable[0]
    if len(index.manifests) == 1 and index.manifests[0].platform is None:
        return index.manifests[0]
    named = {str(each.platform) for each in index.manifests if each.platform and each.platform.os != "unknown"}
    there = ", ".join(sorted(named)[:20]) or "none for any platform"
    raise ImageFault(subject, "NoPlatform", f"it has no image for {wanted}; it has {there}")


def check(config: Config, wanted: Platform, subject: str) -> None:
    """Raises ImageFault for an image that is for another platform; one that does not say for which may be used."""
    own = Platform(os=config.os, architecture=config.architecture, variant=config.variant)
    if config.architecture and config.os and not _suits(own, wanted):
        raise ImageFault(subject, "NoPlatform", f"it is an image for {own} only, and not for {wanted}")


def is_same(one: Platform | None, other: Platform | None) -> bool:
    """Whether both are one platform, however they are written: linux/arm64 is linux/aarch64 and linux/arm64/v8."""
    return one == other or (one is not None and other is not None and _full(one) == _full(other))


def _suits(offered: Platform, wanted: Platform) -> bool:
    if wanted.variant:
        return is_same(offered, wanted)
    return _full(offered)[:2] == _full(wanted)[:2]


def _full(platform: Platform) -> tuple[str, str, str]:
    architecture = _ARCHITECTURES.get(platform.architecture, platform.architecture)
    return platform.os, architecture, platform.variant or _USUAL_VARIANTS.get(architecture, "")
