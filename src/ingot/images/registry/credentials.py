"""Credentials that docker and podman keep: in a file, or behind a helper program."""

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ingot.images.fault import ImageFault

_MOST_BYTES = 1 << 20
_HELPER = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
_HELPER_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user with a password, or a `token` that a token server takes in exchange for others. `place`: the file or
    helper that they come from. `private`: others read what is told of them, so that even the user is not named."""

    user: str
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    place: str = field(default="", compare=False)
    private: bool = field(default=False, compare=False)

    @property
    def basic(self) -> str:
        """The value of an Authorization header."""
        return f"Basic {base64.b64encode(f'{self.user}:{self.password}'.encode()).decode()}"

    def __str__(self) -> str:
        """Without the secret."""
        user = "" if self.private else f" of {self.user!r}"
        kind = "the token" if self.token else f"the password{user}"
        return f"{kind} from {self.place}"


class _Entry(msgspec.Struct):
    auth: str = ""
    username: str = ""
    password: str = ""
    identitytoken: str = ""


class _File(msgspec.Struct, rename="camel"):
    auths: dict[str, _Entry] | None = None
    cred_helpers: dict[str, str] | None = None
    creds_store: str = ""


class _Answer(msgspec.Struct, rename="pascal"):
    username: str
    secret: str


def find(files: tuple[Path, ...], registry: str, repository: str) -> Credentials | None:
    """What the first file that knows the registry says; None for a stranger to it. Raises ImageFault for a file or
    helper that cannot be used."""
    for path in files:
        found = _in_file(path, _read(path), registry, repository)
        if found:
            return found
    return None


def find_in(text: bytes, place: str, registry: str, repository: str) -> Credentials | None:
    """As `find`, in the text of such a file. Helpers that it names are not asked: it may be a stranger's. Raises
    ImageFault."""
    file = _decoded(text, place)
    auths = file.auths or {}
    known = (_credentials(place, name, auths[name]) for name in _names(registry, repository) if name in auths)
    return next((entry for entry in known if entry), None)


def _in_file(path: Path, file: _File, registry: str, repository: str) -> Credentials | None:
    names = list(_names(registry, repository))
    helpers = file.cred_helpers or {}
    for name in names:
        if name in helpers:
            return _ask(path, helpers[name], name)
    auths = file.auths or {}
    for name in names:
        if name in auths:
            entry = _credentials(str(path), name, auths[name])
            if entry:
                return entry
    if file.creds_store:
        # Docker keeps its own registry under the address of its first version.
        return _ask(path, file.creds_store, names[-1] if registry == "docker.io" else registry)
    return None


def _names(registry: str, repository: str) -> Iterator[str]:
    """What a registry may be called in a file, the most special first."""
    parts = repository.split("/") if repository else []
    for count in range(len(parts), 0, -1):
        yield f"{registry}/{'/'.join(parts[:count])}"
    for host in (registry, "index.docker.io") if registry == "docker.io" else (registry,):
        yield from (host, f"https://{host}", f"http://{host}", f"https://{host}/v2/", f"https://{host}/v1/")


def _read(path: Path) -> _File:
    try:
        with path.open("rb") as file:
            return _decoded(file.read(_MOST_BYTES), str(path))
    except FileNotFoundError:
        raise ImageFault(str(path), "BadCredentials", "this file with credentials is not there") from None
    except OSError:
        raise _unreadable(str(path)) from None


def _decoded(text: bytes, place: str) -> _File:
    try:
        return msgspec.json.decode(text, type=_File)
    except (msgspec.MsgspecError, RecursionError):
        # What is wrong in it may be a part of a password.
        raise _unreadable(place) from None


def _unreadable(place: str) -> ImageFault:
    message = "it cannot be read; docker's config.json or podman's auth.json is accepted"
    return ImageFault(place, "BadCredentials", message)


def _credentials(place: str, name: str, entry: _Entry) -> Credentials | None:
    if entry.auth:
        try:
            user, colon, password = base64.b64decode(entry.auth, validate=True).decode().partition(":")
        except ValueError:
            colon = ""
        if not colon:
            raise ImageFault(place, "BadCredentials", f"`auth` of {name} is not the base64 of USER:PASSWORD")
        return Credentials(user, password.rstrip("\0"), entry.identitytoken, place)
    if entry.username or entry.identitytoken:
        return Credentials(entry.username, entry.password, entry.identitytoken, place)
    return None


def _ask(path: Path, helper: str, name: str) -> Credentials | None:
    if not _HELPER.fullmatch(helper):
        raise ImageFault(str(path), "BadCredentials", "a credential helper is named by letters, digits, `.`, `_`, `-`")
    program = f"docker-credential-{helper}"
    import subprocess

    try:
        done = subprocess.run(
            [program, "get"], input=name.encode(), capture_output=True, timeout=_HELPER_SECONDS, check=False
        )
    except FileNotFoundError:
        raise ImageFault(str(path), "NoHelper", f"it wants {program}, which is not installed") from None
    except (OSError, subprocess.TimeoutExpired):
        raise ImageFault(program, "HelperFailed", f"it gives no credentials for {name} in time", retry=True) from None
    if done.returncode and b"not found" in done.stdout + done.stderr:
        return None
    try:
        answer = msgspec.json.decode(done.stdout, type=_Answer)
    except (msgspec.MsgspecError, RecursionError):
        raise ImageFault(program, "HelperFailed", f"it gives no credentials for {name}") from None
    if answer.username == "<token>":
        return Credentials("", token=answer.secret, place=program)
    return Credentials(answer.username, answer.secret, place=program)
