"""Ingot's own API server for tests: `ingot up --only-api` in a directory, as a process of its own.

with IngotUp(directory) as server:
    ... server.kubeconfig, server.url, server.process.pid ...
"""

from __future__ import annotations

import base64
import ssl
from collections.abc import Sequence
from pathlib import Path

import yaml

from kube.server import Server


class IngotUp(Server):
    """Entered again, it is a restart on the same directory.

    `options` of `ingot up` in place of --only-api give a whole machine: IngotUp(directory, options=()).
    """

    def __init__(self, directory: Path, options: Sequence[str] = ("--only-api",)) -> None:
        super().__init__(["up", "--dir", str(directory), *options], directory.with_suffix(".log"))
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"

    def _trust(self) -> ssl.SSLContext:
        config = yaml.safe_load(self.kubeconfig.read_text())
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"])
        return ssl.create_default_context(cadata=authority.decode())
