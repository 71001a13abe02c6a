"""The certificate that a server of ours shows, replaced on disk at any time without a restart."""

import logging
import ssl
from pathlib import Path

from ingot.kube.kubeconfig import ConfigError, Material

log = logging.getLogger(__name__)


class ServingCertificate:
    """A pair of PEM files as a TLS context whose every handshake uses what the files hold then.

    A pair that does not fit together, as in the middle of being replaced, is not used: the last good one is.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        """Raises ConfigError if there is no usable pair to begin with."""
        self._files = (Material(file=certificate), Material(file=key))
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
        certificate, key = (str(material.file) for material in self._files)
        try:
            context.load_cert_chain(certificate, key)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(certificate, f"no usable certificate and key: {error}") from error
        return context
