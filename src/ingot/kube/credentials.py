"""What proves to the server who sends a request, and the TLS that it travels in."""

import base64
import ssl
import tempfile
from contextlib import ExitStack

from ingot.kube.kubeconfig import Config, ConfigError, Material

Stamp = tuple[tuple[int, int, int], ...]


def _stamp(*materials: Material | None) -> Stamp:
    return tuple(material.stamp() for material in materials if material)


class Credentials:
    """The headers and the TLS context of a Config, as its files are at this moment.

    Looking costs a stat(2) for each file. While a file is being replaced (missing, half written) its last good
    content stays in use; only a first read that fails raises ConfigError.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self._headers: dict[str, str] = {}
        self._headers_stamp: Stamp | None = None
        self._tls: ssl.SSLContext | None = None
        self._tls_stamp: Stamp | None = None

    def headers(self) -> dict[str, str]:
        """The Authorization header, or nothing for those who have a certificate or no name."""
        try:
            stamp = _stamp(self.config.token)
            if stamp != self._headers_stamp:
                self._headers = self._authorization()
                self._headers_stamp = stamp
        except ConfigError:
            if self._headers_stamp is None:
                raise
        return self._headers

    def _authorization(self) -> dict[str, str]:
        config = self.config
        if config.token:
            token = config.token.read().decode("ascii", "replace").strip()
            if not token or not token.isprintable():
                raise ConfigError(str(config.token.file or "token"), "is empty or not a token")
            return {"Authorization": f"Bearer {token}"}
        if config.username:
            pair = base64.b64encode(f"{config.username}:{config.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}

    def tls(self) -> ssl.SSLContext | bool:
        """The context for connections: a new one after a rotation, so that no old connection is used again."""
        config = self.config
        if not config.server.startswith("https:"):
            return True
        try:
            stamp = _stamp(config.ca, config.certificate, config.key)
            if self._tls is None or stamp != self._tls_stamp:
                self._tls = _context(config)
                self._tls_stamp = stamp
        except ConfigError:
            if self._tls is None:
                raise
        return self._tls


def _context(config: Config) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=config.ca.read().decode() if config.ca else None)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(_name(config.ca, "certificate-authority"), f"no usable certificate: {error}") from error
    # Python 3.13 asks for a key identifier in every certificate, which kubeadm's and many others do not have.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if config.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if config.certificate:
        if not config.key:
            raise ConfigError(_name(config.certificate, "client-certificate"), "has no client-key beside it")
        _load_pair(context, config.certificate, config.key)
    return context


def _load_pair(context: ssl.SSLContext, certificate: Material, key: Material) -> None:
    """Hand a client certificate to OpenSSL. It takes files only: inline data goes through private ones."""
    with ExitStack() as stack:
        names = []
        for material in (certificate, key):
            if material.file:
                names.append(str(material.file))
                continue
            file = stack.enter_context(tempfile.NamedTemporaryFile())
            file.write(material.data)
            file.flush()
            names.append(file.name)
        try:
            context.load_cert_chain(*names)
        except (ssl.SSLError, OSError) as error:
            raise ConfigError(_name(certificate, "client-certificate"), f"unusable pair: {error}") from error


def _name(material: Material | None, otherwise: str) -> str:
    return str(material.file) if material and material.file else otherwise
