"""The certificates, keys, tokens and kubeconfig of a control plane under test."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from ingot.kube.kubeconfig import Config, Material

# Of the range for benchmarks, which no network uses. The first address of services is the API server's, to pods.
SERVICES, SERVICE_ADDRESS = "198.18.0.0/17", "198.18.0.1"

FRONT = "front-proxy-client"


class Credentials:
    """Makes everything at once in a directory of its own. `users` maps a name to its groups."""

    def __init__(self, directory: Path, url: str, users: Mapping[str, tuple[str, ...]]) -> None:
        directory.mkdir(mode=0o700, parents=True)
        self._directory, self._url = directory, url
        self._authority = trustme.CA()
        self.ca = self._write("ca.crt", self._authority.cert_pem.bytes())
        server = self._authority.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc", SERVICE_ADDRESS)
        self.server_certificate = self._write("server.crt", server.cert_chain_pems[0].bytes())
        self.server_key = self._write("server.key", server.private_key_pem.bytes())
        # How the API server proves itself to those whom it passes requests on to: its authority signs nobody else.
        front = trustme.CA()
        self.front_ca = self._write("front.ca.crt", front.cert_pem.bytes())
        passing = front.issue_cert("front.test", common_name=FRONT)
        self.front_certificate = self._write("front.crt", passing.cert_chain_pems[0].bytes())
        self.front_key = self._write("front.key", passing.private_key_pem.bytes())
        self.service_account_key = self._write("service-account.key", signing_key())
        self.tokens = {name: secrets.token_hex(16) for name in users}
        self.token_file = self._write("tokens.csv", token_lines(self.tokens, users).encode())
        self.kubeconfig = self._write("kubeconfig", self._kubeconfig(url).encode())

    def client(self, user: str, group: str) -> tuple[Path, Path]:
        """A client certificate and its key, for a user in one group."""
        issued = self._authority.issue_cert(f"{user}.test", common_name=user, organization_name=group)
        certificate = self._write(f"{user}.crt", issued.cert_chain_pems[0].bytes())
        return certificate, self._write(f"{user}.key", issued.private_key_pem.bytes())

    def config(self, user: str) -> Config:
        """How one of the users reaches the server."""
        return Config(self._url, ca=Material(file=self.ca), token=Material(self.tokens[user].encode()))

    def _kubeconfig(self, url: str) -> str:
        cluster = {"server": url, "certificate-authority": str(self.ca)}
        context = {"cluster": "kube", "user": "admin"}
        return yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "kube", "cluster": cluster}],
                "users": [{"name": "admin", "user": {"token": self.tokens["admin"]}}],
                "contexts": [{"name": "kube", "context": context}],
                "current-context": "kube",
            }
        )

    def _write(self, name: str, content: bytes) -> Path:
        path = self._directory / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path


def signing_key() -> bytes:
    """A key that service account tokens are signed and checked with."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())


def token_lines(tokens: Mapping[str, str], users: Mapping[str, tuple[str, ...]]) -> str:
    """kube-apiserver's static token file: token, user, uid and groups on each line."""
    return "".join(f'{tokens[name]},{name},{name},"{",".join(groups)}"\n' for name, groups in users.items())
