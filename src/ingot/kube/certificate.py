"""The certificate that a server of ours shows, replaced on disk at any time without a restart."""

import logging
import ssl
from pathlib import Path

from ingot.kube.kubeconfig import ConfigError, Material

log = logging.getLogger(__name__)


class ServingCertificate:
    """A pair of PEM files as a TLS context whose every handshake uses what the files hold then.

    A pair that does not fit together, as in the middle of being replaced, is not used: the last good one is. With
    `clients`, a file of authorities, a client may show a certificate; that of a stranger ends the handshake.
    """

    def __init__(self, certificate: Path, key: Path, clients: Path | None = None) -> None:
        """Raises ConfigError if there is no usable pair to begin with."""
        self._files = tuple(Material(file=file) for file in (certificate, key, clients) if file is not None)
        self._clients = clients
        self._stamp = self._stamps()
        self._current = self._load()

    def context(self) -> ssl.SSLContext:
        """For the listening socket."""
        front = self._load()
        front.sni_callback = self._handshake
        return front

    def _handshake(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext) -> None:
        try:
            stamp = self._stamps()
            if stamp != self._stamp:
                self._current = self._load()
                self._stamp = stamp
                log.info("serving with the new certificate in %s", self._files[0].file)
        except ConfigError as error:
            log.warning("keeping the old certificate: %s", error)
        connection.context = self._current

    def _stamps(self) -> list[tuple[int, int, int]]:
        return [material.stamp() for material in self._files]

    def _load(self) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        certificate, key = (str(material.file) for material in self._files[:2])
        try:
            context.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(certificate, f"no usable certificate and key: {error}") from error
        if self._clients is not None:
            try:
                context.load_verify_locations(self._clients)
            except (ssl.SSLError, OSError) as error:
                raise ConfigError(str(self._clients), f"no usable authorities: {error}") from error
            context.verify_mode = ssl.CERT_OPTIONAL
        return context
