"""Platforms, which have several names each."""

import pytest

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.config import Config
from ingot.images.registry.manifest import OCI_MANIFEST, Descriptor, Index, Platform
from ingot.images.registry.platform import check, choose, parse_platform

ARM64, AARCH64 = Platform(os="linux", architecture="arm64"), Platform(os="linux", architecture="aarch64")
ARM64_V8 = Platform(os="linux", architecture="arm64", variant="v8")
ARM64_V9 = Platform(os="linux", architecture="arm64", variant="v9")
AMD64, X86_64 = Platform(os="linux", architecture="amd64"), Platform(os="linux", architecture="x86_64")
AMD64_V3 = Platform(os="linux", architecture="amd64", variant="v3")
ARM = Platform(os="linux", architecture="arm")
ARM_V6, ARM_V7 = (Platform(os="linux", architecture="arm", variant=variant) for variant in ("v6", "v7"))
WINDOWS = Platform(os="windows", architecture="amd64")


def _index(platform: Platform) -> Index:
    return Index(manifests=[Descriptor(media_type=OCI_MANIFEST, digest=Digest.of(b"x"), size=1, platform=platform)])


def _config(platform: Platform) -> Config:
    return Config(os=platform.os, architecture=platform.architecture, variant=platform.variant)


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        *((offered, wanted) for offered in (ARM64, AARCH64, ARM64_V8) for wanted in ("arm64", "aarch64", "arm64/v8")),
        *((offered, wanted) for offered in (AMD64, X86_64) for wanted in ("amd64", "x86_64", "amd64/v1")),
        *((offered, wanted) for offered in (ARM, ARM_V7) for wanted in ("arm", "arm/v7", "armhf", "armv7l")),
        *((offered, wanted) for offered, wanted in ((ARM64_V9, "arm64"), (AMD64_V3, "amd64"), (ARM_V6, "arm"))),
    ],
    ids=str,
)
def test_an_image_for_the_platform_by_whatever_name(offered: Platform, wanted: str) -> None:
    platform = parse_platform(f"linux/{wanted}")
    assert choose(_index(offered), platform, "x").platform == offered
    check(_config(offered), platform, "x")


@pytest.mark.parametrize(
    ("offered", "wanted"),
    [
        (ARM64, "linux/arm64/v9"),
        (ARM64_V9, "linux/arm64/v8"),
        (AMD64_V3, "linux/amd64/v1"),
        (ARM_V6, "linux/arm/v7"),
        (ARM, "linux/arm/v6"),
        (ARM64_V8, "linux/arm/v8"),
        (WINDOWS, "linux/amd64"),
    ],
    ids=str,
)
def test_an_image_for_another_platform(offered: Platform, wanted: str) -> None:
    platform = parse_platform(wanted)
    with pytest.raises(ImageFault, match=f"no image for {wanted}; it has {offered}") as caught:
        choose(_index(offered), platform, "x")
    assert caught.value.reason == "NoPlatform"
    with pytest.raises(ImageFault, match=f"for {offered} only"):
        check(_config(offered), platform, "x")


def test_a_platform_is_named_as_registries_do() -> None:
    assert str(parse_platform("linux/x86_64")) == "linux/amd64"
    assert str(parse_platform("linux/aarch64/v8")) == "linux/arm64/v8"
