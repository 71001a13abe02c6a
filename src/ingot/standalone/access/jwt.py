"""JSON web tokens signed with ES256, and with nothing else."""

import hashlib
from base64 import urlsafe_b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

_SIGNATURE = ec.ECDSA(hashes.SHA256())
_TO_STANDARD = str.maketrans("-_", "+/")


class BadSignature(Exception):
    """The token was not signed by the key. `why` is kube-apiserver's word for it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Header(msgspec.Struct):
    alg: str
    kid: str = ""
    # Extensions that a reader must understand; we understand none.
    crit: Any = None


class Signer:
    """Signs and verifies with one P-256 key."""

    def __init__(self, key: ec.EllipticCurvePrivateKey) -> None:
        self._key = key
        self._public = key.public_key()
        self.key_id = key_id(self._public)
        self._header = encode(msgspec.json.encode({"alg": "ES256", "kid": self.key_id}))

    def sign(self, claims: dict[str, Any]) -> str:
        signed = f"{self._header}.{encode(msgspec.json.encode(claims))}"
        r, s = decode_dss_signature(self._key.sign(signed.encode(), _SIGNATURE))
        return f"{signed}.{encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def verify(self, token: str) -> None:
        """Returns if this key signed the token. Raises BadSignature, or ValueError for what is no token."""
        header, payload, signature = token.split(".")
        try:
            decoded = msgspec.json.decode(decode(header), type=_Header)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError("the header is no JSON object") from error
        if decoded.kid and decoded.kid != self.key_id:
            raise BadSignature("invalid signature, no keys found")
        raw = decode(signature)
        # The algorithm is never taken from the token: `none`, or a HMAC keyed with our public key, proves nothing.
        if decoded.alg != "ES256" or decoded.crit is not None or len(raw) != 64:
            raise BadSignature("square/go-jose: error in cryptographic primitive")
        numbers = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            self._public.verify(numbers, f"{header}.{payload}".encode(), _SIGNATURE)
        except InvalidSignature as error:
            raise BadSignature("square/go-jose: error in cryptographic primitive") from error


def key_id(key: ec.EllipticCurvePublicKey) -> str:
    """Kubernetes' name of a key: it tells keys apart and cannot be turned back into one."""
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encode(hashlib.sha256(der).digest())


def encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Base64url without padding, strictly; ValueError for anything else."""
    if "+" in text or "/" in text or "=" in text or len(text) % 4 == 1:
        raise ValueError("not base64url")
    try:
        return a2b_base64(text.translate(_TO_STANDARD) + "=" * (-len(text) % 4), strict_mode=True)
    except Base64Error as error:
        raise ValueError("not base64url") from error
