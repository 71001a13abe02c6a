"""What the pod of an upload proves itself with, and asks of others: a certificate of its own, and a secret word."""

import base64
import hashlib
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ingot.api.object import Object

# The files in the pod, which are the keys of the Secret.
CERTIFICATE, KEY, WORD = "tls.crt", "tls.key", "word"
# An upload may be waited for, and nobody but the proxy trusts the certificate: for that very one it has been given.
_LIFETIME = timedelta(days=3650)
_BACKDATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Credentials:
    """How the pod is known, by the SHA-256 of its certificate, and what it wants to hear."""

    fingerprint: bytes
    word: str


def new_data(name: str) -> dict[str, str]:
    """The `data` of a Secret for a new pod."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _self_signed(name, key)
    content = {
        CERTIFICATE: certificate.public_bytes(serialization.Encoding.PEM),
        KEY: key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        WORD: secrets.token_urlsafe(32).encode(),
    }
    return {field: base64.b64encode(value).decode() for field, value in content.items()}


def credentials_of(secret: Object) -> Credentials:
    """The reverse, for those who speak to the pod. Raises ValueError for a Secret that somebody has changed."""
    data = secret.get("data") or {}
    certificate = x509.load_pem_x509_certificate(base64.b64decode(data.get(CERTIFICATE, "")))
    word = base64.b64decode(data.get(WORD, "")).decode()
    if not word:
        raise ValueError(f"{WORD} is empty")
    return Credentials(hashlib.sha256(certificate.public_bytes(serialization.Encoding.DER)).digest(), word)


def _self_signed(name: str, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    # A common name has at most 64 characters.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + _LIFETIME)
        .sign(key, hashes.SHA256())
    )
