"""How registries and web servers are reached: certificates, mirrors, credentials, patience."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Self

import msgspec

from ingot.images.fault import ImageFault
from ingot.images.reference import check_registry

if TYPE_CHECKING:
    from ingot.images.registry.credentials import Credentials

_MOST_BYTES = 1 << 20
# Where podman keeps credentials of a user without a directory of that session, as of root by sudo.
_SHARED = Path("/run/containers")


@dataclass(frozen=True, slots=True)
class Settings:
    """`auth_files`: docker's config.json or podman's auth.json, the first that knows a host wins. `logins`: what
    is known of a registry before any file is asked. `ca`: a file with certificates that are trusted besides those of
    the machine, or a directory with such files; `authorities`: such certificates themselves, in PEM. `insecure`: hosts
    (HOST or HOST:PORT) that may be spoken to without TLS; loopback always may. `verify`: whether a server with TLS must
    prove who it is. `mirrors`: by registry, HOST[:PORT][/PREFIX] to ask before it.

    `connect`: seconds to connect in. `patience`: seconds that a server may be silent, or slower than `slowest` bytes
    a second. `tries`: how often the same thing is asked for, without any progress, before it has failed; the waits
    between are from `backoff` seconds on, doubled each time, and never over `longest_wait`. `kept`: how many
    connections that nobody uses are kept for the next request.
    """

    auth_files: tuple[Path, ...] = ()
    logins: "Mapping[str, Credentials]" = field(default_factory=dict)
    ca: Path | None = None
    authorities: str = ""
    insecure: frozenset[str] = frozenset()
    verify: bool = True
    mirrors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    connect: float = 10.0
    patience: float = 30.0
    slowest: int = 1024
    tries: int = 6
    backoff: float = 0.25
    longest_wait: float = 60.0
    kept: int = 64

    @classmethod
    def load(cls) -> Self:
        """What the user's or the machine's registries.yaml says, with the credentials that docker and podman keep.

        Raises ImageFault for a file that cannot be used.
        """
        file = _File()
        for path in _places():
            if path.is_file():
                file = _read(path)
                break
        return cls(
            auth_files=tuple(auth_files()),
            ca=Path(file.ca).expanduser() if file.ca else None,
            insecure=frozenset(file.insecure),
            mirrors=file.mirrors,
        )


class _File(msgspec.Struct, forbid_unknown_fields=True):
    ca: str = ""
    insecure: list[str] = []
    mirrors: dict[str, list[str]] = {}


def _places() -> list[Path]:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return [home / "ingot" / "registries.yaml", Path("/etc/ingot/registries.yaml")]


def _read(path: Path) -> _File:
    import yaml

    try:
        with path.open("rb") as source:
            text = source.read(_MOST_BYTES)
        found = yaml.load(text, yaml.CSafeLoader)
        file = _File() if found is None else msgspec.convert(found, _File)
        mirrors = [name.partition("/")[0] for names in file.mirrors.values() for name in names]
        for host in (*file.insecure, *file.mirrors, *mirrors):
            check_registry(host)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, RecursionError, ImageFault) as error:
        why = f"{error}; `ca` (a file), `insecure` (hosts) and `mirrors` (hosts by host) are accepted"
        raise ImageFault(str(path), "BadSettings", why) from None
    return file


def auth_files() -> list[Path]:
    """Where docker and podman keep credentials, in the order in which they are asked."""
    named = os.environ.get("REGISTRY_AUTH_FILE")
    docker = os.environ.get("DOCKER_CONFIG")
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    places = [
        Path(named) if named else None,
        _of_session(),
        home / "containers" / "auth.json",
        Path(docker) / "config.json" if docker else Path.home() / ".docker" / "config.json",
    ]
    return [place for place in places if place and place.is_file()]


def _of_session() -> Path | None:
    """Where `podman login` keeps credentials until the user logs out."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return Path(runtime) / "containers" / "auth.json"
    place = _SHARED / str(os.getuid()) / "auth.json"
    try:
        # The directories above it need not be ours.
        return place if place.lstat().st_uid == os.getuid() else None
    except OSError:
        return None
