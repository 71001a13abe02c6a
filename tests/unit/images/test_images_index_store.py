"""Where indexes are kept: one process makes each, killed ones leave nothing for long, and the bound holds."""

import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ingot.images.digest import Digest
from ingot.images.index_store import IndexStore

DIGESTS = [Digest.of(bytes([number])) for number in range(4)]

MAKE = """
import sys
from pathlib import Path
from ingot.images.digest import Digest
from ingot.images.gzip_index import IndexBuilder
from ingot.images.index_store import IndexStore
digest = Digest.of(bytes([0]))
with IndexStore(Path(sys.argv[1]), 1 << 20).alone(digest) as path, IndexBuilder(path, digest, 1000):
    print("making", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "indexes", 2500)


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "indexes").iterdir())


def test_one_at_a_time_makes_it_and_the_others_find_it(store: IndexStore, tmp_path: Path) -> None:
    barrier = threading.Barrier(8)

    def use(_: int) -> int:
        barrier.wait()
        with store.alone(DIGESTS[0]) as path:
            if path.exists():
                return 0
            assert not (path.parent / "busy").exists()
            (path.parent / "busy").touch()
            path.write_bytes(b"index")
            (path.parent / "busy").unlink()
            return 1

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(use, range(8))) == 1
    assert names(tmp_path) == [DIGESTS[0].hex]
    assert stat.S_IMODE((tmp_path / "indexes").stat().st_mode) == 0o700


def test_what_a_killed_process_left_goes_and_what_is_being_made_stays(store: IndexStore, tmp_path: Path) -> None:
    command = [sys.executable, "-c", MAKE, str(tmp_path / "indexes")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"making\n"
        left = names(tmp_path)
        assert left == [f".{DIGESTS[0].hex}.part", f"{DIGESTS[0].hex}.lock"]
        store.tidy()
        assert names(tmp_path) == left
        process.send_signal(signal.SIGKILL)
        process.wait()
    # Such as earlier versions left.
    (tmp_path / "indexes" / f".{DIGESTS[1].hex}.0a1b2c3d").write_bytes(b"half")
    store.tidy()
    assert names(tmp_path) == []


def test_those_used_least_recently_go(store: IndexStore, tmp_path: Path) -> None:
    for age, digest in zip((400, 300, 200, 100), DIGESTS, strict=True):
        with store.alone(digest) as path:
            path.write_bytes(bytes(1000))
        os.utime(path, (1e9 - age, 1e9 - age))
    with store.alone(DIGESTS[0]):
        pass
    assert store.size() == 4000
    store.tidy()
    assert names(tmp_path) == sorted((DIGESTS[0].hex, DIGESTS[3].hex))


def test_one_that_is_gone_is_no_reason_to_fail(store: IndexStore) -> None:
    assert store.size() == 0
    store.tidy()
