"""Which image of an index is for a machine."""

import platform

from ingot.images.fault import ImageFault
from ingot.images.registry.config import Config
from ingot.images.registry.manifest import Descriptor, Index, Platform

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386"}


def parse_platform(text: str) -> Platform:
    """Reads OS/ARCHITECTURE or OS/ARCHITECTURE/VARIANT. Raises ImageFault."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.replace("_", "").isalnum() for part in parts):
        raise ImageFault(
            text[:80], "BadPlatform", "this is no platform: OS/ARCHITECTURE is accepted, such as linux/arm64"
        )
    return Platform(os=parts[0], architecture=parts[1], variant=parts[2] if len(parts) == 3 else "")


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


def _suits(offered: Platform, wanted: Platform) -> bool:
    same = offered.os == wanted.os and offered.architecture == wanted.architecture
    return same and (not wanted.variant or offered.variant == wanted.variant)
