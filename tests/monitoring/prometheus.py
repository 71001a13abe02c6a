"""A real Prometheus: Debian's, on loopback, that looks every second and has our rules."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from guest.servers.server import HOST, LoopbackServer, wait_until
from kube.cluster import free_ports

RULES = Path(__file__).parents[2] / "deploy" / "alerts" / "rules.yaml"
# In place of the minutes that the rules wait.
PATIENCE = "2s"


def impatient_rules() -> dict[str, Any]:
    """Our rules, with nothing changed but how long they wait."""
    found: dict[str, Any] = yaml.safe_load(RULES.read_text())
    for group in found["groups"]:
        for rule in group["rules"]:
            rule["for"] = PATIENCE
    return found


class Prometheus(LoopbackServer):
    """Scrapes the `target`, an address and a port, and tells which alerts fire."""

    programs = ("prometheus",)
    packages = ("prometheus",)

    def __init__(self, target: str) -> None:
        super().__init__()
        self._target = target
        (self.port,) = free_ports(1)

    def _start(self, stack: ExitStack) -> None:
        configuration = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{"job_name": "ingot", "static_configs": [{"targets": [self._target]}]}],
        }
        (self.directory / "rules.yaml").write_text(yaml.safe_dump(impatient_rules()))
        (self.directory / "prometheus.yaml").write_text(yaml.safe_dump(configuration))
        command = [
            "prometheus",
            f"--config.file={self.directory / 'prometheus.yaml'}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={HOST}:{self.port}",
        ]
        process = self.run(stack, command)
        wait_until(self._is_ready, process)

    def _is_ready(self) -> bool:
        try:
            return bool(self._get("/-/ready"))
        except (urllib.error.URLError, ConnectionError):
            return False

    def firing(self) -> dict[str, dict[str, str]]:
        """The labels of what fires, by the name of the alert."""
        found = json.loads(self._get("/api/v1/alerts"))["data"]["alerts"]
        return {each["labels"]["alertname"]: each["labels"] for each in found if each["state"] == "firing"}

    def value(self, query: str) -> float | None:
        """The first value that the query gives; None for none."""
        found = json.loads(self._get(f"/api/v1/query?query={quote(query)}"))["data"]["result"]
        return float(found[0]["value"][1]) if found else None

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{HOST}:{self.port}{path}", timeout=10) as answer:
            return bytes(answer.read())
