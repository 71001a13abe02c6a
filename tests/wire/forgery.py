"""Tokens with other claims than the server gave, but with its own signature."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ingot_up import IngotUp
from kube.cluster import ControlPlane


def claims_of(token: str) -> dict[str, Any]:
    payload = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return claims


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def signed_anew(token: str, server: IngotUp | ControlPlane, **changes: Any) -> str:
    """The token with changed claims, signed with the key that the server signs with."""
    header = token.split(".")[0]
    content = f"{header}.{encode(json.dumps({**claims_of(token), **changes}).encode())}"
    return f"{content}.{encode(_signature(_key_file(server), content.encode()))}"


def _key_file(server: IngotUp | ControlPlane) -> Path:
    if isinstance(server, ControlPlane):
        return server.credentials.service_account_key
    return server.directory / "pki" / "service-account.pem"


def _signature(file: Path, content: bytes) -> bytes:
    key = load_pem_private_key(file.read_bytes(), None)
    if isinstance(key, RSAPrivateKey):
        return key.sign(content, PKCS1v15(), SHA256())
    assert isinstance(key, EllipticCurvePrivateKey)
    first, second = decode_dss_signature(key.sign(content, ECDSA(SHA256())))
    return first.to_bytes(32, "big") + second.to_bytes(32, "big")
