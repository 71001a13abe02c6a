"""A real registry: Debian's docker-registry on loopback, plain, with passwords, with TLS, or with a token server."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import yaml

from guest.servers.certificates import Certificates
from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports

USER, PASSWORD = "ingot", "sesame"
# The password with bcrypt, which is all that docker-registry takes.
HTPASSWD = "ingot:$2y$04$abcdefghijklmnopqrstuuinwY/tkBVrn3xrxQI/TgnMHhkvl85RW\n"


@dataclass(frozen=True, slots=True)
class TokenAuth:
    """Where tokens come from, and the certificate that they are signed with."""

    realm: str
    service: str
    issuer: str
    certificates: Path


class DockerRegistry(LoopbackServer):
    """`host` is HOST:PORT. `htpasswd`: whom it lets in. Blobs and manifests can be deleted."""

    programs = ("docker-registry",)
    packages = ("docker-registry",)

    def __init__(
        self,
        *,
        htpasswd: str = "",
        tls: Certificates | None = None,
        token: TokenAuth | None = None,
    ) -> None:
        super().__init__()
        self._htpasswd, self._tls, self._token = htpasswd, tls, token
        (self.port,) = free_ports(1)

    @property
    def host(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def storage(self) -> Path:
        return self.directory / "storage"

    def _start(self, stack: ExitStack) -> None:
        configuration = self.directory / "config.yml"
        configuration.write_text(yaml.safe_dump(self._configuration()))
        self.process = self.run(stack, ["docker-registry", "serve", str(configuration)])
        wait_until(lambda: listens(self.port), self.process)

    def _configuration(self) -> dict[str, object]:
        http: dict[str, object] = {"addr": self.host, "secret": "of-a-test", "relativeurls": True}
        if self._tls:
            self._tls.write_server(self.directory)
            http["tls"] = {
                "certificate": str(self.directory / "server-cert.pem"),
                "key": str(self.directory / "server-key.pem"),
            }
        made: dict[str, object] = {
            "version": 0.1,
            "log": {"level": "warn", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(self.storage)}, "delete": {"enabled": True}},
            "http": http,
        }
        if self._htpasswd:
            passwords = self.directory / "htpasswd"
            passwords.write_text(self._htpasswd)
            made["auth"] = {"htpasswd": {"realm": "disks", "path": str(passwords)}}
        if self._token:
            made["auth"] = {
                "token": {
                    "realm": self._token.realm,
                    "service": self._token.service,
                    "issuer": self._token.issuer,
                    "rootcertbundle": str(self._token.certificates),
                }
            }
        return made
