"""TLS of the server: its certificate, and whose certificates it wants to see."""

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from ingot.images.fault import ImageFault

_log = logging.getLogger(__name__)

# As QEMU, libvirt and nbdkit call them.
CERTIFICATE = "server-cert.pem"
KEY = "server-key.pem"


@dataclass(frozen=True, slots=True)
class Security:
    """`directory` has the server's certificate and key; with `clients`, a file of authorities, every client must show a
    certificate that one of them has signed."""

    directory: Path
    clients: Path | None = None

    def context(self) -> ssl.SSLContext:
        """Reads the files as they are now. Raises ImageFault."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.directory / CERTIFICATE, self.directory / KEY)
        except (OSError, ssl.SSLError) as error:
            why = f"{CERTIFICATE} and {KEY} must be there, a certificate with its chain and its key: {error}"
            raise ImageFault(str(self.directory), "BadCertificate", why) from error
        if self.clients is not None:
            try:
                context.load_verify_locations(self.clients)
            except (OSError, ssl.SSLError) as error:
                why = f"it must be a file of the authorities of clients, in PEM: {error}"
                raise ImageFault(str(self.clients), "BadCertificate", why) from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def stamp(self) -> tuple[int, ...]:
        """What changes with the files. Raises OSError."""
        files = [self.directory / CERTIFICATE, self.directory / KEY, *([self.clients] if self.clients else [])]
        return tuple(number for file in files for number in (file.stat().st_mtime_ns, file.stat().st_ino))

    def record(self) -> dict[str, Any]:
        return {"directory": str(self.directory), "clients": None if self.clients is None else str(self.clients)}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        return cls(Path(record["directory"]), Path(record["clients"]) if record["clients"] else None)


class Contexts:
    """The context of the files as they are: certificates that are renewed are taken up with the next client, and while
    they are half written, the last good ones serve. For one thread."""

    def __init__(self, security: Security) -> None:
        """Raises ImageFault."""
        self._security = security
        self._stamp: tuple[int, ...] = ()
        self._context = security.context()

    def current(self) -> ssl.SSLContext:
        try:
            stamp = self._security.stamp()
            if stamp != self._stamp:
                self._context = self._security.context()
                self._stamp = stamp
        except (OSError, ImageFault) as error:
            _log.error("the certificates stay those of before: %s", error)
        return self._context
