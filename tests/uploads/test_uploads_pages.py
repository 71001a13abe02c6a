"""Uploads by a web page of another origin: what a browser asks before, and needs in the answer (CORS)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ingot.web.proxy import PATHS
from uploads.curl import Answer, curl
from uploads.disks_to_send import a_disk
from uploads.lab import Lab

ORIGIN = ["--header", "Origin: https://console.example"]
ASKED = [
    *("--request", "OPTIONS", "--header", "Access-Control-Request-Method: POST"),
    *(
        "--header",
        "Access-Control-Request-Headers: authorization,content-range,content-type,upload-offset,upload-identity",
    ),
]


async def ask(lab: Lab, *options: str, path: str = "/v1beta1/upload", token: str = "") -> Answer:
    return await asyncio.to_thread(curl, await lab.url(path), token, *ORIGIN, *options, trust=lab.trust)


def words(answer: Answer, header: str) -> set[str]:
    return {word.strip().lower() for word in answer.headers.get(header, "").split(",")}


@pytest.mark.parametrize("path", sorted(PATHS))
async def test_a_browser_is_told_before_it_sends_that_pages_of_all_origins_may(lab: Lab, path: str) -> None:
    """B8: a preflight needs no token, for a browser sends none with it."""
    answer = await ask(lab, *ASKED, path=path)
    assert (answer.code, answer.headers["access-control-allow-origin"]) == (204, "*")
    assert {"put", "post", "head"} <= words(answer, "access-control-allow-methods")
    asked = {"authorization", "content-range", "content-type", "upload-offset", "upload-identity"}
    assert asked <= words(answer, "access-control-allow-headers")
    assert int(answer.headers["access-control-max-age"]) > 0


async def test_a_page_uploads_a_disk_and_reads_the_answer(lab: Lab, tmp_path: Path) -> None:
    """B8: with a token, which is the right; the answer may be read by the page, with where to go on."""
    a_disk(tmp_path / "disk.raw")
    await lab.volume("disk")
    token = await lab.token("disk")
    head = await ask(lab, "--head", token=token)
    sent = await ask(lab, "--upload-file", str(tmp_path / "disk.raw"), token=token)
    assert sent.code == 200, sent
    for answer in (head, sent):
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "upload-offset" in words(answer, "access-control-expose-headers")
        assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_can_read_why_it_was_refused(lab: Lab) -> None:
    answer = await ask(lab, "--head", token="wrong")  # noqa: S106
    assert (answer.code, answer.headers["access-control-allow-origin"]) == (401, "*")
    plain = await ask(lab, "--request", "OPTIONS")
    assert plain.code == 405, "OPTIONS that is no browser's question is no way to upload"
