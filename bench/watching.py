"""Watch latency: from just before a create is sent until each of many watchers has read its event."""

import asyncio
import json
import time
from dataclasses import dataclass

from bench.servers import Server

WATCHERS = 100
CREATES = 200
PAUSE = 0.02


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds over all watchers and events."""

    p50: float
    p99: float


async def measure(server: Server, namespace: str) -> Latency:
    samples: list[float] = []
    watchers = [await _watch(server, namespace) for _ in range(WATCHERS)]
    counting = [asyncio.create_task(_count(reader, samples)) for reader, _ in watchers]
    await _create(server, namespace)
    await asyncio.wait_for(asyncio.gather(*counting), 60)
    for _, writer in watchers:
        writer.close()
    samples.sort()
    return Latency(samples[len(samples) // 2] * 1000, samples[int(len(samples) * 0.99)] * 1000)


async def _connect(server: Server) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", server.port, ssl=server.context, server_hostname="localhost")


async def _watch(server: Server, namespace: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await _connect(server)
    revision = json.loads(server.ask("GET", f"/api/v1/namespaces/{namespace}/configmaps?limit=1"))["metadata"]
    path = f"/api/v1/namespaces/{namespace}/configmaps?watch=1&resourceVersion={revision['resourceVersion']}"
    writer.write(_request("GET", path, server.token))
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


async def _count(reader: asyncio.StreamReader, samples: list[float]) -> None:
    """Reads events, each of which says when its create was sent."""
    seen = 0
    while seen < CREATES:
        line = await reader.readuntil(b"\n")
        start = line.find(b'"sent":"')
        if start >= 0:
            now = time.perf_counter()
            samples.append(now - float(line[start + 8 : line.index(b'"', start + 8)]))
            seen += 1


async def _create(server: Server, namespace: str) -> None:
    reader, writer = await _connect(server)
    for number in range(CREATES):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"watched-{number}"},
            "data": {"sent": repr(time.perf_counter())},
        }
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        writer.write(_request("POST", path, server.token, json.dumps(body).encode()))
        await _answer(reader)
        await asyncio.sleep(PAUSE)
    writer.close()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    if " 201 " not in head.splitlines()[0]:
        raise RuntimeError(head)
    length = next(line for line in head.splitlines() if line.startswith("content-length:"))
    await reader.readexactly(int(length.partition(":")[2]))


def _request(method: str, path: str, token: str, body: bytes = b"") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
