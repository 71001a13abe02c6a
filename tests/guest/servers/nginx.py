"""nginx: files over HTTP and HTTPS with ranges, some of them for those with a password."""

from __future__ import annotations

import base64
import hashlib
import os
from contextlib import ExitStack
from pathlib import Path

from guest.servers.certificates import Certificates
from guest.servers.server import HOST, LoopbackServer, listens, wait_until
from kube.cluster import free_ports

_CONFIGURATION = """
daemon off;
worker_processes 1;
user {user};
pid {directory}/nginx.pid;
error_log stderr info;
events {{ worker_connections 256; }}
http {{
    access_log {directory}/access.log;
    client_body_temp_path {directory}/scratch/body;
    proxy_temp_path {directory}/scratch/proxy;
    fastcgi_temp_path {directory}/scratch/fastcgi;
    uwsgi_temp_path {directory}/scratch/uwsgi;
    scgi_temp_path {directory}/scratch/scgi;
    server {{
        listen {host}:{http};
        listen {host}:{https} ssl;
        ssl_certificate {directory}/server-cert.pem;
        ssl_certificate_key {directory}/server-key.pem;
        location / {{
            root {files};
        }}
        location /private/ {{
            alias {files}/;
            auth_basic "disks";
            auth_basic_user_file {directory}/passwords;
        }}
    }}
}}
"""


class Nginx(LoopbackServer):
    """Serves a directory under `/`, and the same under `/private/` to those who know user and password."""

    programs = ("nginx",)
    packages = ("nginx-light",)

    def __init__(self, files: Path, user: str, password: str) -> None:
        super().__init__()
        self.files, self.user, self.password = files, user, password
        self.certificates = Certificates()
        self.http_port, self.https_port = free_ports(2)

    @property
    def http(self) -> str:
        return f"http://{HOST}:{self.http_port}"

    @property
    def https(self) -> str:
        return f"https://{HOST}:{self.https_port}"

    def requests(self) -> list[str]:
        """The lines of the access log."""
        return (self.directory / "access.log").read_text().splitlines()

    def _start(self, stack: ExitStack) -> None:
        self.certificates.write_server(self.directory)
        (self.directory / "scratch").mkdir()
        (self.directory / "passwords").write_text(f"{self.user}:{_hashed(self.password)}\n")
        configuration = self.directory / "nginx.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                directory=self.directory,
                files=self.files,
                host=HOST,
                http=self.http_port,
                https=self.https_port,
                # As root, nginx would become another user, who cannot read what tests make.
                user="root" if os.geteuid() == 0 else "nobody",
            )
        )
        self.process = self.run(stack, ["nginx", "-p", str(self.directory), "-e", "stderr", "-c", str(configuration)])
        wait_until(lambda: listens(self.http_port) and listens(self.https_port), self.process)


def _hashed(password: str) -> str:
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).digest()
    return "{SHA}" + base64.b64encode(digest).decode()
