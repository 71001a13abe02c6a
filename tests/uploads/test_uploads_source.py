"""A VolumeUploadSource that is deleted while somebody sends: no 200 for what is not bound."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.cdi import names
from ingot.api.resources import UPLOAD_SOURCES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from uploads.curl import curl
from uploads.disks_to_send import MIB, a_disk
from uploads.lab import Lab

SIZE = 64 * MIB


async def a_source(lab: Lab) -> None:
    about = {"apiVersion": UPLOAD_SOURCES.api_version, "kind": UPLOAD_SOURCES.kind}
    metadata = {"name": "us", "namespace": lab.namespace}
    await lab.client.create(UPLOAD_SOURCES, {**about, "metadata": metadata, "spec": {}})


async def a_claim(lab: Lab) -> None:
    """One that takes its upload without a DataVolume."""
    await a_source(lab)
    metadata = {"name": "disk", "namespace": lab.namespace, "annotations": {names.IMMEDIATE: "true"}}
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": str(SIZE)}},
        "dataSourceRef": {"apiGroup": names.GROUP, "kind": UPLOAD_SOURCES.kind, "name": "us"},
    }
    await lab.client.create(VOLUME_CLAIMS, {"metadata": metadata, "spec": spec})


async def test_an_upload_whose_source_is_deleted_is_cut_and_taken_when_it_is_back(lab: Lab, tmp_path: Path) -> None:
    content = a_disk(tmp_path / "disk.raw", data=48 * MIB)
    file, url = tmp_path / "disk.raw", await lab.url()
    await a_claim(lab)
    token = await lab.token("disk")

    async def offset() -> int | None:
        found = await asyncio.to_thread(curl, url, token, "--head", trust=lab.trust)
        return int(found.headers["upload-offset"]) if found.code == 200 else None

    async def is_there() -> bool:
        return await offset() is not None

    async def has_begun() -> bool:
        return (await offset() or 0) >= 4 * MIB

    await eventually(is_there)
    slow = ["--limit-rate", "8M", "--upload-file", str(file)]
    sending = asyncio.create_task(asyncio.to_thread(curl, url, token, *slow, trust=lab.trust))
    await eventually(has_begun)
    await lab.client.delete(UPLOAD_SOURCES, "us", lab.namespace)
    assert (await sending).code != 200
    with pytest.raises(ApiError, match="is not there: make it first"):
        await lab.token("disk")

    await a_source(lab)
    token = await lab.token("disk")
    await eventually(is_there)
    answer = await asyncio.to_thread(curl, url, token, "--upload-file", str(file), trust=lab.trust)
    assert answer.code == 200, answer
    assert (await lab.disk("disk")).read_bytes()[: len(content)] == content
