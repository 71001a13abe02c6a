"""The two servers side by side, each as its user would run it: durable, with TLS and RBAC."""

import http.client
import json
import os
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingot_up import IngotUp
from kube.cluster import ControlPlane

NAMES = ("ingot", "kube")


@dataclass(slots=True)
class Server:
    """One running server: where it is, how to be let in, and the processes that it is made of."""

    name: str
    port: int
    authority: Path
    token: str
    pids: list[int]
    seconds_to_answer: float
    context: ssl.SSLContext = field(init=False)

    def __post_init__(self) -> None:
        self.context = ssl.create_default_context(cafile=str(self.authority))

    def connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: Any = None) -> bytes:
        """One request on a connection of its own; raises for an answer that is no success."""
        connection = self.connect()
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{self.name}: {method} {path}: {answer.status} {content[:300]!r}")
        return content

    def resident(self) -> int:
        """Bytes of memory that its processes hold."""
        return sum(_pages(pid) for pid in self.pids) * os.sysconf("SC_PAGE_SIZE")

    def cpu(self) -> float:
        """CPU seconds that its processes have used."""
        return sum(_ticks(pid) for pid in self.pids) / os.sysconf("SC_CLK_TCK")


def _pages(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1])


def _ticks(pid: int) -> int:
    # The name before it, in parentheses, may hold spaces.
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(after_name[11]) + int(after_name[12])


@contextmanager
def started(name: str, directory: Path) -> Iterator[Server]:
    """Runs a server; `seconds_to_answer` is from the first process to the first object that it gives."""
    begin = time.perf_counter()
    if name == "ingot":
        with IngotUp(directory) as up:
            token = (directory / "token").read_text().strip()
            server = Server(name, up.port, _authority(directory), token, [up.process.pid], 0.0)
            yield _answering(server, begin)
    else:
        with ControlPlane(directory, durable=True, controllers=()) as plane:
            pids = [process.pid for process in plane.processes.values()]
            server = Server(name, plane.port, plane.credentials.ca, plane.tokens["admin"], pids, 0.0)
            yield _answering(server, begin)


def _authority(directory: Path) -> Path:
    """The certificate of the authority alone, as a file."""
    text = (directory / "pki" / "ca.pem").read_text()
    path = directory.with_suffix(".ca.pem")
    path.write_text(text[text.index("-----BEGIN CERTIFICATE") :])
    return path


def _answering(server: Server, begin: float) -> Server:
    server.ask("GET", "/api/v1/namespaces/default")
    server.seconds_to_answer = time.perf_counter() - begin
    return server
