"""Exports that cannot be written to, served by the real nbdkit."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ingot.disks.endpoint import File, Network
from ingot.disks.fault import DiskFault
from ingot.disks.writing import check_writable


@contextmanager
def export(directory: Path, *options: str) -> Iterator[Network]:
    socket, ready = directory / "s", directory / "ready"
    server = subprocess.Popen(["nbdkit", "-f", *options, "-U", socket, "-P", ready, "memory", "1M"])
    try:
        while not ready.exists():
            assert server.poll() is None
            time.sleep(0.01)
        yield Network("nbd", "", socket=socket, origin="nbds://192.0.2.1:10809/x")
    finally:
        server.terminate()
        server.wait()


async def test_one_that_is_only_read_is_told_with_the_cure(tmp_path: Path) -> None:
    with export(tmp_path, "-r") as found, pytest.raises(DiskFault, match="accessMode read-shared") as caught:
        await check_writable("data", found, tmp_path)
    assert caught.value.reason == "ReadOnlyExport"
    assert caught.value.message.startswith("nbds://192.0.2.1:10809/x cannot be opened for writing")
    assert str(tmp_path) not in caught.value.message


async def test_one_that_is_gone_meanwhile(tmp_path: Path) -> None:
    with pytest.raises(DiskFault) as caught:
        await check_writable("data", Network("nbd", "", socket=tmp_path / "none", origin="nbd://a"), tmp_path)
    assert caught.value.reason == "Unreachable"


async def test_what_can_be_written_to_or_is_no_export(tmp_path: Path) -> None:
    with export(tmp_path) as found:
        await check_writable("data", found, tmp_path)
    await check_writable("data", File(tmp_path / "none"), tmp_path)
    await check_writable("data", Network("iscsi", "iqn.a:b"), tmp_path)
