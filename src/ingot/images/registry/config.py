"""The configuration of an image: its platform and labels."""

import msgspec

from ingot.images.fault import ImageFault

MOST_BYTES = 8 << 20


class Settings(msgspec.Struct, frozen=True, rename="pascal"):
    """What a container of the image would be run with; of a disk only the labels matter."""

    labels: dict[str, str] | None = None


class RootFs(msgspec.Struct, frozen=True):
    """`diff_ids`: the digests of the layers, unpacked."""

    diff_ids: list[str] = []


class Config(msgspec.Struct, frozen=True):
    architecture: str = ""
    os: str = ""
    variant: str = ""
    created: str = ""
    config: Settings | None = None
    rootfs: RootFs | None = None

    @property
    def labels(self) -> dict[str, str]:
        return (self.config.labels if self.config else None) or {}


def decode_config(data: bytes, subject: str) -> Config:
    """Raises ImageFault."""
    try:
        return msgspec.json.decode(data, type=Config)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ImageFault(subject, "BadConfig", f"its configuration cannot be read: {error}") from None
