"""X.509 certificates on P-256 keys, as a small authority issues them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_LIFETIME = timedelta(days=3650)
LEAF_LIFETIME = timedelta(days=365)
# Clocks differ: a certificate made now must be good on a machine that is a little behind.
_BACKDATE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Pair:
    """A private key and the certificate of its public half."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return key_pem(self.key)

    def pem(self) -> bytes:
        """Key and certificate in one text, so that one file always holds a pair that fits."""
        return self.key_pem + self.certificate_pem

    @classmethod
    def from_pem(cls, content: bytes) -> Self:
        """The reverse of `pem`; ValueError for anything else."""
        key = load_key(content)
        certificate = x509.load_pem_x509_certificate(content)
        if certificate.public_key() != key.public_key():
            raise ValueError("the key does not belong to the certificate")
        return cls(key, certificate)

    def expires(self) -> datetime:
        return self.certificate.not_valid_after_utc

    def issued_by(self, authority: "Pair") -> bool:
        """Whether this very authority signed it; its name alone proves nothing."""
        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except (InvalidSignature, ValueError, TypeError):
            return False
        return True


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as `EC PRIVATE KEY`, the one form that kube-apiserver takes for service accounts too."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def load_key(content: bytes) -> ec.EllipticCurvePrivateKey:
    """The P-256 key in a PEM text; ValueError when there is none."""
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except TypeError as error:
        raise ValueError("the key is protected by a password") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("the key is not a P-256 key")
    return key


def new_authority(name: str) -> Pair:
    key = new_key()
    subject = _name(name, ())
    builder = _builder(subject, subject, key, AUTHORITY_LIFETIME)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(sign=True), critical=True)
    return Pair(key, builder.sign(key, hashes.SHA256()))


def new_server(authority: Pair, name: str, hosts: Sequence[str]) -> Pair:
    """A serving certificate for names and addresses."""
    names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
    return _leaf(authority, _name(name, ()), ExtendedKeyUsageOID.SERVER_AUTH, names)


def new_client(authority: Pair, user: str, groups: Sequence[str]) -> Pair:
    """A client certificate: Kubernetes takes the common name as the user and organizations as its groups."""
    return _leaf(authority, _name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)


def hosts_of(certificate: x509.Certificate) -> list[str]:
    """Names and addresses that a serving certificate is good for."""
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return [str(name.value) for name in extension.value]


def fingerprint(der: bytes) -> str:
    return hashlib.sha256(der).hexdigest()


def _leaf(
    authority: Pair,
    subject: x509.Name,
    purpose: x509.ObjectIdentifier,
    names: x509.SubjectAlternativeName | None,
) -> Pair:
    key = new_key()
    issuer = authority.certificate
    builder = _builder(subject, issuer.subject, key, LEAF_LIFETIME)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(sign=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    if names is not None:
        builder = builder.add_extension(names, critical=False)
    return Pair(key, builder.sign(authority.key, hashes.SHA256()))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, value) for value in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, sign: bool) -> x509.KeyUsage:
    """What an authority's key may do, or a leaf's."""
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign,
        crl_sign=sign,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
