"""`ingot image trace`: a guest is watched, and what it reads is attached to the image."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ingot.cli.main import cli
from ingot.images.chunk import CHUNK_SIZE
from ingot.images.content import FileContent
from ingot.images.lazy.trace import Trace, attach, find
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.repository import Repository

SIZE = 64 * CHUNK_SIZE


@pytest.fixture
def pushed(registry: Registry, repository: Callable[[], Reference], tmp_path: Path) -> Reference:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(SIZE))
    reference = repository()
    with FileContent(path) as content:
        push_disk(registry, content, reference, PushOptions())
    return reference


@pytest.fixture
def trace(pushed: Reference, tmp_path: Path) -> Callable[..., Result]:
    def run(*arguments: str) -> Result:
        options = ["image", "trace", str(pushed), "--cache", str(tmp_path / "cache"), *arguments]
        return CliRunner().invoke(cli, options)

    return run


def test_what_a_guest_reads_is_attached(trace: Callable[..., Result]) -> None:
    reads = ["-c", "read 2m 64k", "-c", "read 1m 128k"]
    recorded = trace("--", "qemu-io", "-r", "-f", "raw", *reads, "{nbd}")
    assert recorded.exit_code == 0, recorded.output
    shown = json.loads(trace("--show", "--output", "json").output)
    # Tables come first, and QEMU reads the first block itself.
    runs = [tuple(run) for run in shown["runs"]]
    first = runs[-1][0] - 16
    assert runs[-2:] == [(first + 32, 1), (first + 16, 2)]
    assert recorded.output == trace("--show").output


def test_one_that_is_gone_and_still_listed_hides_no_older_one(registry: Registry, pushed: Reference) -> None:
    image = registry.resolve(pushed)
    layer = image.manifest.layers[0].digest
    older, newer = (Trace.of(layer, [number]) for number in (1, 2))
    attach(registry, image, older)
    gone = attach(registry, image, newer)
    assert find(registry, image) == newer
    Repository(registry._endpoint(pushed.registry), pushed.repository).delete(gone, "x")
    assert find(registry, image) == older


def test_without_a_text_the_guest_must_have_read_something(trace: Callable[..., Result]) -> None:
    script = "nbdcopy {nbd} null:; exec sleep 60"
    assert trace("--seconds", "2", "--", "sh", "-c", script).exit_code == 0
    assert json.loads(trace("--show", "--output", "json").output)["chunks"] > 64


def test_a_guest_that_says_nothing_more_is_watched_on(trace: Callable[..., Result]) -> None:
    """A command may close its output, or send it elsewhere."""
    script = "exec >/dev/null 2>&1; nbdcopy {nbd} null:; exec sleep 60"
    assert trace("--seconds", "3", "--", "sh", "-c", script).exit_code == 0
    assert json.loads(trace("--show", "--output", "json").output)["chunks"] > 64


def test_the_cache_is_bounded(trace: Callable[..., Result], tmp_path: Path) -> None:
    limit = 512 << 10
    done = trace("--cache-size", str(limit), "--", "nbdcopy", "{nbd}", "null:")
    assert done.exit_code == 0, done.output
    files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.name != "limit"]
    assert 0 < sum(path.stat().st_size for path in files) <= limit


def test_until_the_guest_has_started(trace: Callable[..., Result]) -> None:
    script = "nbdinfo --size {nbd}; nbdcopy {nbd} null:; echo it is up; exec sleep 60"
    assert trace("--until", "it is up", "--", "sh", "-c", script).exit_code == 0
    assert json.loads(trace("--show", "--output", "json").output)["chunks"] > 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--show",), "it has no trace"),
        (("--until", "up", "--seconds", "1", "--", "sleep", "60"), "did not print 'up' in 1 s; nothing is attached"),
        (("--seconds", "1", "--", "sh", "-c", "nbdinfo {nbd}; exec sleep 60"), "chunks only, so it has not started"),
        (("--", "sh", "-c", "echo no such machine; exit 3"), "sh: it ended with 3: no such machine"),
        (("--until", "up", "--seconds", "1", "--", "sh", "-c", "exec sleep 60 >&- 2>&-"), "did not print 'up' in 1 s"),
        (("--", "sh", "-c", "exec >&- 2>&-; nbdinfo {nbd}; exit 3"), "sh: it ended with 3: it said nothing"),
        (("--", "false"), "false: it ended with 1: it said nothing"),
        (("--", "no-such-program"), "no-such-program: it is not there"),
    ],
)
def test_what_goes_wrong_is_told_and_attaches_nothing(
    trace: Callable[..., Result], arguments: tuple[str, ...], message: str
) -> None:
    failed = trace(*arguments)
    assert failed.exit_code == 1
    assert message in failed.output
    assert trace("--show").exit_code == 1
