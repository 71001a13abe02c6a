"""Certificates for servers and clients of one test: an authority of its own, in the files that each program wants."""

from __future__ import annotations

from pathlib import Path

import trustme


class Certificates:
    """An authority, a certificate for servers on loopback, and on `addresses` beside it, and one for clients."""

    def __init__(self, *addresses: str) -> None:
        self._authority = trustme.CA()
        self._server = self._authority.issue_cert("127.0.0.1", "localhost", *addresses)
        self._client = self._authority.issue_cert(common_name="ingot-client")

    @property
    def authority(self) -> str:
        return self._authority.cert_pem.bytes().decode()

    @property
    def client_certificate(self) -> str:
        return _chain(self._client)

    @property
    def client_key(self) -> str:
        return self._client.private_key_pem.bytes().decode()

    def write_server(self, directory: Path) -> None:
        """The server's side, under the names that QEMU and nbdkit look for."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "ca-cert.pem").write_text(self.authority)
        (directory / "server-cert.pem").write_text(_chain(self._server))
        _write_key(directory / "server-key.pem", self._server.private_key_pem.bytes())

    def write_client(self, directory: Path) -> None:
        """The client's side, under the names that QEMU and nbdkit look for."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "ca-cert.pem").write_text(self.authority)
        (directory / "client-cert.pem").write_text(self.client_certificate)
        _write_key(directory / "client-key.pem", self.client_key.encode())


def _chain(leaf: trustme.LeafCert) -> str:
    return "".join(blob.bytes().decode() for blob in leaf.cert_chain_pems)


def _write_key(path: Path, key: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key)
