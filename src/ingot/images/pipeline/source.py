"""Where an image comes from, as people name it."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ingot.images.fault import ImageFault
from ingot.images.reference import is_explicit
from ingot.images.registry.address import public

FORMS = (
    "a registry reference (docker://HOST/REPOSITORY:TAG), http(s)://…, nbd://…, nbd+unix://…, a file, or - for stdin"
)
# A name that ends so, without a registry's host or a tag, is that of a file, there or not.
_SUFFIXES = (".img", ".raw", ".qcow2", ".vmdk", ".vdi", ".vhdx", ".vhd", ".iso", ".gz", ".xz", ".zst", ".lz4", ".tar")


class Kind(StrEnum):
    REGISTRY = "registry"
    HTTP = "http"
    FILE = "file"
    STDIN = "stdin"
    NBD = "nbd"
    S3 = "s3"
    # A raw file, or a block device, as the disk that it is, whatever it looks like: a guest may have written that.
    DISK = "disk"
    DEVICE = "device"
    # A disk of zeros; `place` is its size.
    BLANK = "blank"


_SCHEMES = {
    "docker": Kind.REGISTRY,
    "oci": Kind.REGISTRY,
    "http": Kind.HTTP,
    "https": Kind.HTTP,
    "nbd": Kind.NBD,
    "nbds": Kind.NBD,
    "nbd+unix": Kind.NBD,
    "nbds+unix": Kind.NBD,
    "file": Kind.FILE,
}


@dataclass(frozen=True, slots=True)
class Source:
    """`place` is a reference, a URL, a path or a size, by its kind. Kinds from S3 on are named by programs only."""

    kind: Kind
    place: str

    @classmethod
    def parse(cls, text: str) -> "Source":
        """Raises ImageFault, which says what would be accepted."""
        if text == "-":
            return cls(Kind.STDIN, text)
        scheme, separator, rest = text.partition("://")
        if separator:
            return cls._of_url(text, scheme.lower(), rest)
        if not text:
            raise ImageFault("source", "BadSource", f"it is empty; it may be {FORMS}")
        like_a_file = text.endswith(_SUFFIXES) and not is_explicit(text)
        if text.startswith(("/", ".", "~")) or like_a_file or Path(text).exists():
            return cls(Kind.FILE, str(Path(text).expanduser()))
        return cls(Kind.REGISTRY, text)

    @classmethod
    def _of_url(cls, text: str, scheme: str, rest: str) -> "Source":
        kind = _SCHEMES.get(scheme)
        if kind is None:
            raise ImageFault(str(cls(Kind.HTTP, text)), "BadSource", f"{scheme}:// is not known; it may be {FORMS}")
        if kind is Kind.REGISTRY:
            return cls(kind, rest)
        if kind is Kind.FILE:
            return cls(kind, unquote(urlsplit(text).path))
        return cls(kind, text)

    def __str__(self) -> str:
        """Without credentials: also a query may hold one, unless it names the socket of NBD."""
        match self.kind:
            case Kind.STDIN:
                return "standard input"
            case Kind.BLANK:
                return "a blank disk"
            case Kind.HTTP | Kind.S3:
                return public(self.place)
            case Kind.NBD:
                user, at, _ = urlsplit(self.place).netloc.rpartition("@")
                return self.place.replace(user + at, "", 1)
            case _:
                return self.place


def missing(path: Path) -> ImageFault:
    """For a file that is not there: what was named may have been meant as an image in a registry."""
    message = "No such file or directory; an image in a registry is named as docker://HOST/REPOSITORY:TAG"
    return ImageFault(str(path), "Unreadable", message)
