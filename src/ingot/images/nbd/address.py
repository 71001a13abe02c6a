"""Where an NBD export is: host and port or a unix socket, the export's name, and whether it is encrypted.

https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md
"""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

from ingot.images.authorities import trust
from ingot.images.fault import ImageFault

PORT = 10809
_SCHEMES = {"nbd": (False, False), "nbds": (False, True), "nbd+unix": (True, False), "nbds+unix": (True, True)}


@dataclass(frozen=True, slots=True)
class Tls:
    """Whom to trust, and who we are. `authority` is a file, or a directory with files, of authorities that are trusted
    besides those of this machine."""

    authority: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Raises ImageFault when a file cannot be read or is not what it should be, and for a directory without any
        authority."""
        context = ssl.create_default_context()
        if self.authority is not None:
            trust(context, self.authority)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.certificate is not None:
            try:
                context.load_cert_chain(self.certificate, self.key)
            except OSError as error:
                why = f"it cannot be used with the key {self.key} ({error}): PEM files of one pair are accepted"
                raise ImageFault(str(self.certificate), "BadCertificate", why) from None
        return context


@dataclass(frozen=True, slots=True)
class Address:
    """`socket` is the path of a unix socket; without it `host` and `port` count. `tls` is None for plain text."""

    export: str = ""
    host: str = "localhost"
    port: int = PORT
    socket: Path | None = None
    tls: Tls | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, text: str, tls: Tls | None = None) -> Self:
        """Reads nbd://HOST[:PORT]/EXPORT, nbds://…, nbd+unix:///EXPORT?socket=PATH or nbds+unix://….

        `tls` is for the encrypted ones. Raises ImageFault.
        """
        try:
            parts = urlsplit(text)
            port = parts.port
            # As Python does when it looks the name up.
            (parts.hostname or "").encode("idna")
        except ValueError as error:
            raise _bad(text, str(error)) from error
        if parts.scheme not in _SCHEMES:
            raise _bad(text, f"{parts.scheme or 'nothing'} is not one of {', '.join(_SCHEMES)}")
        unix, encrypted = _SCHEMES[parts.scheme]
        paths = parse_qs(parts.query).get("socket", [])
        if unix != (len(paths) == 1) or (unix and parts.netloc):
            raise _bad(text, "only those with +unix have ?socket=PATH, once, and they have no host")
        if parts.username is not None:
            raise _bad(text.partition("//")[0], "it has a user name, which NBD does not know; use a certificate")
        export = unquote(parts.path.removeprefix("/"))
        security = (tls or Tls()) if encrypted else None
        if unix:
            return cls(export, socket=Path(paths[0]), tls=security)
        return cls(export, parts.hostname or "localhost", PORT if port is None else port, tls=security)

    def __str__(self) -> str:
        scheme = "nbds" if self.tls else "nbd"
        export = quote(self.export)
        if self.socket is not None:
            return f"{scheme}+unix:///{export}?socket={quote(str(self.socket))}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}{'' if self.port == PORT else f':{self.port}'}/{export}"


def _bad(text: str, why: str) -> ImageFault:
    wanted = "nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH, with nbds for TLS"
    return ImageFault(text, "BadAddress", f"{why}; write {wanted}")
