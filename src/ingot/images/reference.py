"""References: the names of images in registries."""

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Self

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault

DEFAULT_REGISTRY = "docker.io"
DEFAULT_TAG = "latest"
_LOCAL = "localhost"
# A registry's host has one of them; no part of a repository in front has.
_MARKS = ".:["
_LONGEST = 1024
_LONGEST_REPOSITORY = 255
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_HOST = re.compile(rf"(?P<host>{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:.]+\])(?::(?P<port>[0-9]{{1,5}}))?")
_COMPONENT = "[a-z0-9]+(?:(?:[.]|_|__|-+)[a-z0-9]+)*"
_REPOSITORY = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Reference:
    """An image in a registry; by `digest` where there is one, else by `tag`."""

    registry: str
    repository: str
    tag: str | None
    digest: Digest | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a name as docker does: `debian` is `docker.io/library/debian:latest`. `docker://` may go before.

        Raises ImageFault.
        """
        if len(text) > _LONGEST:
            raise _bad(text, f"it has {len(text)} characters, and at most {_LONGEST} are accepted")
        name = text.removeprefix("docker://")
        name, at, wanted = name.partition("@")
        digest = Digest.parse(wanted) if at else None
        registry, path = _split(name)
        repository, colon, tag = path.partition(":")
        if registry == DEFAULT_REGISTRY and "/" not in repository:
            repository = f"library/{repository}"
        _check_registry(text, registry)
        _check_repository(text, repository)
        if colon and not is_tag(tag):
            raise _bad(text, "its tag must be up to 128 letters, digits, `_`, `.` and `-`, and begin with none of `.-`")
        return cls(registry, repository, tag if colon else None if digest else DEFAULT_TAG, digest)

    @classmethod
    def repository_of(cls, text: str) -> Self:
        """As parse, for a name without tag and digest: the repository itself. Raises ImageFault for one with them."""
        found = cls.parse(text)
        if found.digest or ":" in text.removeprefix("docker://").rpartition("/")[2]:
            raise _bad(text, "a repository is named without a tag and without a digest")
        return replace(found, tag=None)

    @property
    def target(self) -> str:
        """What to ask the registry for: the digest, or the tag."""
        return str(self.digest) if self.digest else self.tag or DEFAULT_TAG

    @property
    def name(self) -> str:
        """Registry and repository."""
        return f"{self.registry}/{self.repository}"

    def at(self, digest: Digest) -> Self:
        """The same repository, pinned to a digest; the tag stays as a remark."""
        return replace(self, digest=digest)

    def tagged(self, tag: str) -> Self:
        """Another tag in the same repository."""
        return replace(self, tag=tag, digest=None)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.name}{tag}{digest}"


def _split(name: str) -> tuple[str, str]:
    """Registry and the rest. The first component is a registry when it cannot be a repository's."""
    first, slash, rest = name.partition("/")
    if slash and any(mark in first for mark in _MARKS):
        registry = first.lower()
        return (DEFAULT_REGISTRY if registry == "index.docker.io" else registry), rest
    if slash and (first == _LOCAL or first != first.lower()):
        return first, rest
    return DEFAULT_REGISTRY, name


def is_explicit(text: str) -> bool:
    """Whether it has a registry's host, a tag or a digest, by which a reference is told from a plain name."""
    first, slash, _ = text.partition("/")
    has_host = bool(slash) and (first == _LOCAL or any(mark in first for mark in _MARKS))
    return has_host or "@" in text or ":" in text.rpartition("/")[2]


def is_tag(text: str) -> bool:
    return bool(_TAG.fullmatch(text))


def is_repository(text: str) -> bool:
    return len(text) <= _LONGEST_REPOSITORY and bool(_REPOSITORY.fullmatch(text))


def check_registry(registry: str) -> None:
    """Raises ImageFault where this is not HOST or HOST:PORT."""
    _check_registry(registry, registry)


def _check_registry(text: str, registry: str) -> None:
    match = _HOST.fullmatch(registry)
    if not match or len(registry) > _LONGEST_REPOSITORY:
        raise _bad(text, f"{registry!r} is no registry: HOST or HOST:PORT is accepted")
    host, port = match["host"], match["port"]
    if port and not 0 < int(port) < 65536:
        raise _bad(text, f"there is no port {port}: 1 to 65535 are accepted")
    if host.startswith("["):
        try:
            ipaddress.IPv6Address(host[1:-1])
        except ValueError:
            raise _bad(text, f"{host} is no IPv6 address") from None


def _check_repository(text: str, repository: str) -> None:
    if not is_repository(repository):
        raise _bad(
            text,
            f"{repository[:80]!r} is no repository: up to {_LONGEST_REPOSITORY} lower-case letters and digits are "
            "accepted, with `.`, `_`, `__` and `-` between them, and `/` between parts",
        )


def _bad(text: str, why: str) -> ImageFault:
    return ImageFault(text[:160], "BadReference", why)
