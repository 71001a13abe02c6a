"""Uploads that say how they are packed (B8): every byte arrives as it was sent, or none is taken."""

from __future__ import annotations

import gzip
import io
import random

import aiohttp
import pytest
from backports import zstd

from uploads.pod import MIB, SIZE, Pod

DISK = bytes(2 * MIB) + random.Random(1).randbytes(MIB)  # noqa: S311, for content that a seed tells
PACKED = {"gzip": gzip.compress(DISK, 1), "zstd": zstd.compress(DISK, 1)}


@pytest.mark.parametrize("encoding", PACKED)
@pytest.mark.parametrize("has_length", [True, False])
async def test_a_packed_disk_is_whole(pod: Pod, encoding: str, has_length: bool) -> None:
    """It was cut short to its packed length, and called whole."""
    packed = PACKED[encoding]
    async with pod.behind_endpoint():
        send = pod.send if has_length else pod.put
        code, said = await send(packed, Content_Encoding=encoding)
    assert (code, said) == (200, "")
    assert pod.upload.offset == len(packed)
    assert pod.disk == DISK + bytes(SIZE - len(DISK))


@pytest.mark.parametrize("encoding", ["deflate", "br", "gzip, gzip"])
async def test_another_packing_is_refused_before_a_byte_is_taken(pod: Pod, encoding: str) -> None:
    async with pod.behind_endpoint():
        code, said = await pod.send(DISK, Content_Encoding=encoding)
    assert (code, said) == (
        415,
        f"Content-Encoding is {encoding!r}; it must be identity or gzip or x-gzip or zstd\n",
    )
    assert not pod.upload.running
    assert pod.disk is None


async def test_a_packed_form_is_refused(pod: Pod) -> None:
    form = aiohttp.FormData({"file": io.BytesIO(DISK)})
    code, said = await pod.fill_in(form, Content_Encoding="gzip")
    assert (code, said) == (415, "Content-Encoding is 'gzip'; it must be identity\n")
