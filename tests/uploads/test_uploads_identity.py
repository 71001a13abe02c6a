"""Where pods have a network, one is known by the certificate that was made for its upload, and by nothing else."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import aiohttp
from aiohttp.test_utils import RawTestServer

from ingot.control.reach import Line
from ingot.control.uploads.credentials import Credentials, credentials_of, new_data
from ingot.control.uploads.token import Grant
from ingot.web.destination import Destination, Destinations
from ingot.web.proxy import Proxy
from uploads.worker_process import UploadWorker


class OnePod(Destinations):
    """Whoever asks is sent there."""

    def __init__(self, found: Destination) -> None:
        self._found = found

    async def grant(self, token: str) -> Grant:
        return Grant("default", "disk", "a-claim", 0)

    async def find(self, grant: Grant) -> Destination:
        return self._found


async def code_of_upload(worker: UploadWorker, credentials: Credentials) -> int:
    """What the endpoint answers who sends a mebibyte to the worker, where it knows it by these credentials."""
    line = Line(worker.url.removeprefix("https://").rstrip("/"))
    async with RawTestServer(Proxy(OnePod(Destination(line, credentials, "a-claim")))) as server:
        url, headers = server.make_url("/v1beta1/upload"), {"Authorization": "Bearer of-a-test"}
        async with aiohttp.ClientSession() as session, session.put(url, data=bytes(1 << 20), headers=headers) as answer:
            return answer.status


def test_a_pod_that_is_not_the_one_gets_no_byte(tmp_path: Path) -> None:
    """The endpoint speaks to the very certificate that was made for the upload, and to no other."""
    with UploadWorker(tmp_path) as worker:
        word = base64.b64encode(worker.word.encode()).decode()
        other = credentials_of({"data": {**new_data("another"), "word": word}})
        assert asyncio.run(code_of_upload(worker, other)) == 503
        assert worker.progress()["done"] == 0
        own = base64.b64encode((tmp_path / "tls" / "tls.crt").read_bytes()).decode()
        right = credentials_of({"data": {"tls.crt": own, "word": word}})
        assert asyncio.run(code_of_upload(worker, right)) == 200
