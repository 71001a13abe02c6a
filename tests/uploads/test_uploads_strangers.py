"""A stranger on one machine that has the ports of workers, on all addresses, before them and after them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eventual import eventually
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import DATA_VOLUMES
from uploads.curl import curl
from uploads.disks_to_send import a_disk
from uploads.lab import Lab

# It listens on all addresses, says how far "it" is to whoever asks, and writes down what it was told.
_STRANGER = """
import http.server, sys, threading
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("asked", self.path, flush=True)
        body = b'{"done": 77, "total": 100, "rate": 7}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def handle(self):
        print("met", flush=True)
        super().handle()
servers = [http.server.ThreadingHTTPServer(("0.0.0.0", int(port)), Liar) for port in sys.argv[1:]]
print("listens", flush=True)
[threading.Thread(target=server.serve_forever).start() for server in servers]
"""


@contextmanager
def stranger(log: Path) -> Iterator[Path]:
    """A process that has both ports of workers; what it was asked is in the file."""
    ports = (str(names.PROGRESS_PORT), str(names.UPLOAD_PORT))
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", _STRANGER, *ports], stdout=output, stderr=output)
    try:
        while "listens" not in log.read_text():
            assert process.poll() is None, log.read_text()
        yield log
    finally:
        process.kill()
        process.wait()


async def send(lab: Lab, token: str, content: bytes, start: int, part: Path) -> int:
    """Sends the bytes from `start` on until the last one, or the one in the middle if that comes first; the code."""
    middle = len(content) // 2
    piece = content[start:middle] if start < middle else content[start:]
    await asyncio.to_thread(part.write_bytes, piece)
    span = f"Content-Range: bytes {start}-{start + len(piece) - 1}/{len(content)}"
    options = ["--header", span, "--upload-file", str(part)]
    return (await asyncio.to_thread(curl, await lab.url(), token, *options, trust=lab.trust)).code


async def progress(lab: Lab, done: int) -> Object:
    """What the volume says of its upload, when that is so much."""

    async def look() -> Object | None:
        found = await lab.client.get(DATA_VOLUMES, "disk", lab.namespace)
        transfer = found["status"].get("transfer") or {}
        assert transfer.get("total") != 100, "the stranger was believed"
        return transfer if transfer.get("done") == done else None

    return await eventually(look, 30)


async def upload_past(lab: Lab, tmp_path: Path) -> None:
    """An upload in two parts, with a look at its progress between them."""
    content = a_disk(tmp_path / "disk.raw")
    middle = len(content) // 2
    token = await lab.token("disk")
    assert await send(lab, token, content, 0, tmp_path / "part") == 202
    assert (await progress(lab, middle))["total"] == len(content)
    assert await send(lab, token, content, middle, tmp_path / "part") == 200
    await lab.phase("disk", "Succeeded")
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content


async def test_a_stranger_who_had_the_ports_first_stops_nothing_and_answers_for_nobody(
    lab: Lab, tmp_path: Path
) -> None:
    """B8, G1: the pod starts, its progress is its own, and the upload passes."""
    with stranger(tmp_path / "log") as log:
        await lab.volume("disk")
        await upload_past(lab, tmp_path)
        assert log.read_text() == "listens\n"


async def test_a_stranger_who_takes_the_ports_later_stops_nothing_and_hears_nothing(lab: Lab, tmp_path: Path) -> None:
    """B8, G1: nothing goes to the stranger."""
    await lab.volume("disk")
    with stranger(tmp_path / "log") as log:
        await upload_past(lab, tmp_path)
        assert log.read_text() == "listens\n"
