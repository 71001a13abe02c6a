"""The certificates of one directory: made on first start, read on later ones, renewed before they expire."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec

from ingot.host.files import private_directory, write_atomically
from ingot.standalone.access import certificates
from ingot.standalone.access.certificates import Pair
from ingot.standalone.access.user import ADMIN, MASTERS

# Names under which programs look for an API server: on this machine, and in a pod.
LOCAL_HOSTS = (
    "127.0.0.1",
    "::1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
RENEW_BEFORE = timedelta(days=60)


class PkiError(Exception):
    """A key or certificate on disk cannot be used."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path} cannot be used: {why}; remove it, and the next start makes a new one")
        self.path = path
        self.why = why


@dataclass(frozen=True, slots=True)
class Pki:
    """What a server needs to prove itself, and an administrator to be let in."""

    directory: Path
    authority: Pair
    server: Pair
    admin: Pair
    signing_key: ec.EllipticCurvePrivateKey

    @property
    def authority_pem(self) -> bytes:
        return self.authority.certificate_pem

    def server_context(self) -> ssl.SSLContext:
        """TLS for the server. A client may show a certificate; that of a stranger ends the handshake."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.directory / "server.pem")
        context.load_verify_locations(cadata=self.authority_pem.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
        return context


def ensure(directory: Path, hosts: Sequence[str] = (), now: datetime | None = None) -> Pki:
    """The certificates in `directory`, made or renewed where needed. `hosts` are further names of the server.

    A renewed authority renews what it issued; the service accounts' key stays, so their tokens stay good.
    Raises PkiError for a file that is damaged: replacing a key unasked would lock its clients out in silence.
    """
    private_directory(directory)
    deadline = (now or datetime.now(UTC)) + RENEW_BEFORE
    wanted = list(dict.fromkeys([*LOCAL_HOSTS, *filter(None, hosts)]))

    def fresh(pair: Pair) -> bool:
        return pair.expires() > deadline

    def of_authority(pair: Pair) -> bool:
        return fresh(pair) and pair.issued_by(authority)

    def serves_all(pair: Pair) -> bool:
        return of_authority(pair) and set(wanted) <= set(certificates.hosts_of(pair.certificate))

    def new_server() -> Pair:
        return certificates.new_server(authority, "ingot", wanted)

    def new_admin() -> Pair:
        return certificates.new_client(authority, ADMIN, [MASTERS])

    authority = _pair(directory / "ca.pem", fresh, lambda: certificates.new_authority("ingot-ca"))
    server = _pair(directory / "server.pem", serves_all, new_server)
    admin = _pair(directory / "admin.pem", of_authority, new_admin)
    return Pki(directory, authority, server, admin, _key(directory / "service-account.pem"))


def serving(directory: Path, name: str, hosts: Sequence[str]) -> Path:
    """The file of the key and certificate of another server on this machine, made or renewed where needed; `hosts` are
    its names beside the machine's own. Raises PkiError, also where there is no authority yet."""
    authority = _authority(directory)
    deadline = datetime.now(UTC) + RENEW_BEFORE
    wanted = list(dict.fromkeys([*LOCAL_HOSTS[:3], *filter(None, hosts)]))

    def good(pair: Pair) -> bool:
        known = set(certificates.hosts_of(pair.certificate))
        return pair.expires() > deadline and pair.issued_by(authority) and set(wanted) <= known

    path = directory / f"{name}.pem"
    _pair(path, good, lambda: certificates.new_server(authority, f"ingot-{name}", wanted))
    return path


def authority_pem(directory: Path) -> bytes:
    """The certificate of the authority, without its key. Raises PkiError."""
    return _authority(directory).certificate_pem


def _authority(directory: Path) -> Pair:
    path = directory / "ca.pem"
    try:
        return Pair.from_pem(_read(path) or b"")
    except ValueError as error:
        raise PkiError(path, str(error)) from error


def _pair(path: Path, good: Callable[[Pair], bool], make: Callable[[], Pair]) -> Pair:
    content = _read(path)
    if content is not None:
        try:
            pair = Pair.from_pem(content)
        except ValueError as error:
            raise PkiError(path, str(error)) from error
        if good(pair):
            return pair
    pair = make()
    write_atomically(path, pair.pem())
    return pair


def _key(path: Path) -> ec.EllipticCurvePrivateKey:
    content = _read(path)
    if content is not None:
        try:
            return certificates.load_key(content)
        except ValueError as error:
            raise PkiError(path, str(error)) from error
    key = certificates.new_key()
    write_atomically(path, certificates.key_pem(key))
    return key


def _read(path: Path) -> bytes | None:
    """The file, or None without one. Closes what a careless copy opened to others."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    path.chmod(0o600)
    return content
