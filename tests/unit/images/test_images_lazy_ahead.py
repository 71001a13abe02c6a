"""What is fetched ahead of readers, on a machine that has no thread for it."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from ingot.images.cache import Cache
from ingot.images.container_disk import ContainerDisk
from ingot.images.lazy.ahead import Ahead
from ingot.images.lazy.chunks import LazyChunks
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings


def test_without_a_thread_it_can_begin_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun = threading.Event()
    disk = cast(ContainerDisk, SimpleNamespace(image=SimpleNamespace(reference="lab/debian:13")))
    chunks = cast(LazyChunks, SimpleNamespace(begin=begun.set))
    ahead = Ahead(Registry(Settings()), disk, chunks, Cache(tmp_path), follow=False, pace=None)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        ahead.begin()
    assert caplog.messages == ["lab/debian:13: nothing is fetched ahead: can't start new thread"]
    ahead.join()
    ahead.begin()
    assert begun.wait(10)
    ahead.stop()
    ahead.join()
