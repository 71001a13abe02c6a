"""`ingot worker` with S3: Ceph's gateway, which checks signatures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from guest.servers.rados_gateway import RadosGateway
from images.workers import Worker, secret

CONTENT = os.urandom(9 << 20) + bytes(3 << 20)
# Each of these is encoded in its own way by a signature.
NAME = "dir/a disk+1 (ü)~.img"


@pytest.fixture(scope="module")
def gateway() -> Iterator[RadosGateway]:
    if lacking := RadosGateway.why_not():
        pytest.skip(lacking)
    with RadosGateway() as server:
        server.put("/disks")
        server.put("/disks/disk.img", CONTENT)
        server.put("/disks/dir/a%20disk%2B1%20%28%C3%BC%29~.img", CONTENT)
        server.put("/disks/public.img", CONTENT, public=True)
        yield server


def _worker(tmp_path: Path, url: str, keys: tuple[str, str] | None = None, command: str = "import") -> Worker:
    words: tuple[object, ...] = ()
    if keys:
        words = ("--secret", secret(tmp_path / "secret", accessKeyId=keys[0], secretKey=keys[1]))
    return Worker(tmp_path, command, "--source-kind", "s3", *words, url=url)


@pytest.mark.parametrize("name", ["disk.img", NAME])
def test_an_object_is_read_in_ranges_with_signatures(tmp_path: Path, gateway: RadosGateway, name: str) -> None:
    """G1: s3."""
    worker = _worker(tmp_path, f"{gateway.url}/disks/{name}", (gateway.access, gateway.secret))
    told = worker.succeed()
    assert told["virtualSize"] == len(CONTENT)
    assert worker.disk.read_bytes() == CONTENT
    assert gateway.secret not in worker.log + str(told)


def test_what_everybody_may_read_needs_no_secret(tmp_path: Path, gateway: RadosGateway) -> None:
    worker = _worker(tmp_path, f"{gateway.url}/disks/public.img")
    worker.succeed()
    assert worker.disk.read_bytes() == CONTENT


def test_the_size_can_be_asked_for(tmp_path: Path, gateway: RadosGateway) -> None:
    url = f"{gateway.url}/disks/disk.img"
    told = _worker(tmp_path, url, (gateway.access, gateway.secret), "inspect").succeed()
    assert (told["virtualSize"], told["format"]) == (len(CONTENT), "raw")


@pytest.mark.parametrize("keys", [None, "secret", "access"])
def test_who_may_not_read_is_told_so(tmp_path: Path, gateway: RadosGateway, keys: str | None) -> None:
    wrong = {"secret": (gateway.access, "WRONG"), "access": ("NOBODY", gateway.secret)}
    told = _worker(tmp_path, f"{gateway.url}/disks/disk.img", wrong[keys] if keys else None).fail()
    assert (told["reason"], told["retry"]) == ("Denied", False)
    assert ("accessKeyId" if keys else "secretRef") in told["message"]


def test_what_is_not_there(tmp_path: Path, gateway: RadosGateway) -> None:
    told = _worker(tmp_path, f"{gateway.url}/disks/none", (gateway.access, gateway.secret)).fail()
    assert (told["reason"], told["retry"]) == ("NotFound", False)


def test_no_object_in_the_address(tmp_path: Path) -> None:
    told = _worker(tmp_path, "s3://bucket").fail()
    assert (told["reason"], told["retry"]) == ("BadAddress", False)
