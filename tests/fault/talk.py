"""Plain HTTPS to a server that may die at any moment: no retries, so that a test sees every failure."""

from __future__ import annotations

import http.client
import json
import ssl
from typing import Any

from ingot_up import IngotUp


class Talk:
    """One connection as the administrator. Every failure is an OSError or an HTTPException."""

    def __init__(self, server: IngotUp, timeout: float = 30) -> None:
        text = (server.directory / "pki" / "ca.pem").read_text()
        context = ssl.create_default_context(cadata=text[text.index("-----BEGIN CERTIFICATE") :])
        token = (server.directory / "token").read_text().strip()
        self.connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=timeout)
        self.headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """The status code and the decoded answer."""
        self.connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        answer = self.connection.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self.connection.close()


CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, value: str = "") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"key": value}}
