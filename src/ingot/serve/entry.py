"""What a server was told to serve: a name, where it comes from, and how it is shown."""

import re
from dataclasses import asdict, dataclass
from typing import Any, Self

from ingot.images.fault import ImageFault
from ingot.images.pipeline.source import Kind, Source

_LONGEST_NAME = 255
_NAME = re.compile(r"[^\x00-\x1f\x7f/\\][^\x00-\x1f\x7f\\]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """`plain`: the bytes of the file, not the disk that is in it. `platform`: which image of a reference that has
    several, as OS/ARCH; that of this machine where it is empty. A directory serves each image in it, as NAME/FILE, or
    as FILE where the name is empty."""

    name: str
    source: str
    writable: bool = False
    plain: bool = False
    platform: str = ""

    def check(self) -> None:
        """Raises ImageFault for what no server can serve."""
        if self.name and (not _NAME.fullmatch(self.name) or len(self.name.encode()) > _LONGEST_NAME):
            why = f"is no name of an export: up to {_LONGEST_NAME} bytes, printable, and no `/` in front"
            raise ImageFault(repr(self.name), "BadName", why)
        source = Source.parse(self.source)
        kind = source.kind
        if kind not in (Kind.FILE, Kind.HTTP, Kind.REGISTRY):
            raise ImageFault(str(source), "BadSource", "a file, a directory, a URL or a registry reference is served")
        if self.writable and kind is not Kind.FILE:
            raise ImageFault(str(source), "ReadOnly", "only files and block devices of this machine can be writable")
        if self.platform and kind is not Kind.REGISTRY:
            raise ImageFault(str(source), "BadPlatform", "only images in registries are chosen by --platform")

    def record(self) -> dict[str, Any]:
        """For `from_record` of another process."""
        return asdict(self)

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        name, source, platform = str(record["name"]), str(record["source"]), str(record["platform"])
        return cls(name, source, bool(record["writable"]), bool(record["plain"]), platform)
