"""Secrets that are mounted into a worker, read from their files: nothing of them is ever said."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ingot.api.cdi.names import PLAIN_HEADERS
from ingot.images.fault import ImageFault

if TYPE_CHECKING:
    from ingot.images.nbd.address import Tls
    from ingot.images.registry.credentials import Credentials
    from ingot.images.s3 import Keys

# CDI's names.
_USER, _PASSWORD = "accessKeyId", "secretKey"
_CERTIFICATE, _KEY = "tls.crt", "tls.key"
PULL_SECRET = ".dockerconfigjson"  # noqa: S105
_MOST_BYTES = 1 << 16


def login(secret: Path) -> "Credentials":
    """The user and password in it. Raises ImageFault."""
    from ingot.images.registry.credentials import Credentials

    return Credentials(_value(secret, _USER), _value(secret, _PASSWORD), place="the Secret in secretRef")


def keys(secret: Path) -> "Keys":
    """The keys of S3 in it. Raises ImageFault."""
    from ingot.images.s3 import Keys

    return Keys(_value(secret, _USER), _value(secret, _PASSWORD))


def tls(secret: Path | None, authorities: Path | None) -> "Tls":
    """Whom to trust, and our own certificate where the secret has one. Raises ImageFault."""
    from ingot.images.nbd.address import Tls

    if secret is None:
        return Tls(authorities)
    for name in (_CERTIFICATE, _KEY):
        _value(secret, name)
    return Tls(authorities, secret / _CERTIFICATE, secret / _KEY)


def headers(places: tuple[Path, ...]) -> dict[str, str]:
    """The headers in files, a line for each, and in all files of directories. Raises ImageFault."""
    from ingot.images.headers import parse_headers

    return parse_headers(line for place in places for line in _lines(place))


def _lines(place: Path) -> Iterator[tuple[str, str]]:
    """Each with where a person finds it."""
    names = [name for name in _names(place) if not name.startswith(".")] if place.is_dir() else [place.name]
    for name in names:
        shown = f"{PLAIN_HEADERS}[{name}]" if place.name == PLAIN_HEADERS else f"the Secret's {name}"
        lines = _value(place if place.is_dir() else place.parent, name).splitlines()
        yield from ((line, shown) for line in lines if line.strip())


def _names(directory: Path) -> list[str]:
    try:
        return sorted(file.name for file in directory.iterdir())
    except OSError as error:
        raise _unreadable(directory.name, error) from None


def _value(secret: Path, name: str) -> str:
    """Without the end of the line that editors leave behind it."""
    try:
        with (secret / name).open("rb") as file:
            value = file.read(_MOST_BYTES + 1)
        if len(value) > _MOST_BYTES:
            raise ImageFault(f"the Secret's {name}", "BadSecret", f"it has more than {_MOST_BYTES} bytes")
        return value.decode().rstrip("\r\n")
    except FileNotFoundError:
        raise ImageFault("secretRef", "BadSecret", f"the Secret has no {name}: put it there") from None
    except UnicodeDecodeError:
        raise ImageFault("secretRef", "BadSecret", f"the Secret's {name} is no text") from None
    except OSError as error:
        raise _unreadable(name, error) from None


def _unreadable(name: str, error: OSError) -> ImageFault:
    return ImageFault("secretRef", "BadSecret", f"the Secret's {name} cannot be read: {error.strerror}", retry=True)
