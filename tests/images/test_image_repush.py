"""A layer that is somewhere in the registry is not sent again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from images.test_image_push import disk as disk
from images.test_image_push import pull, push
from ingot.cli.main import cli
from ingot.images.push import PushOptions
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.removal import remove


def test_another_tag_of_the_repository(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    reference = repository()
    first = push(registry, disk, reference)
    other = tmp_path / "other.raw"
    other.write_bytes(os.urandom(1 << 20))
    assert push(registry, other, reference.tagged("v2")).sent
    again = push(registry, disk, reference.tagged("v3"))
    assert (again.sent, again.digest) == (0, first.digest)
    assert pull(registry, reference.tagged("v3")) == disk.read_bytes()


def test_another_repository_that_is_named(registry: Registry, repository: Callable[[], Reference], disk: Path) -> None:
    one, two = repository(), repository()
    first = push(registry, disk, one)
    assert push(registry, disk, two).sent
    three = repository()
    again = push(registry, disk, three, PushOptions(mount_from=[replace(one, tag=None)]))
    assert (again.sent, again.digest) == (0, first.digest)
    assert pull(registry, three) == disk.read_bytes()


@pytest.mark.parametrize("level", [None, 3])
def test_another_repository_that_is_remembered(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path, level: int | None
) -> None:
    one, two, three = repository(), repository(), repository()
    options = PushOptions(level=level, cache=tmp_path / "cache")
    first = push(registry, disk, one, options)
    assert first.sent
    second = push(registry, disk, two, options)
    assert (second.sent, second.digest) == (0, first.digest)
    remove(registry, one)
    assert push(registry, disk, three, options).sent == 0
    assert pull(registry, three) == disk.read_bytes()
    assert push(registry, disk, repository(), replace(options, level=4)).sent


def test_a_note_that_is_damaged_only_means_that_the_layer_is_sent(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    options = PushOptions(cache=tmp_path / "cache")
    first = push(registry, disk, repository(), options)
    (note,) = (tmp_path / "cache" / "pushed-layers").iterdir()
    note.write_bytes(b"{}")
    again = push(registry, disk, repository(), options)
    assert (again.sent, again.layer) == (first.sent, first.layer)


def test_notes_of_somebody_else_are_not_used(
    registry: Registry,
    repository: Callable[[], Reference],
    disk: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    options = PushOptions(cache=tmp_path / "cache")
    push(registry, disk, repository(), options)
    os.chown(tmp_path / "cache" / "pushed-layers", 65534, 65534)
    assert push(registry, disk, repository(), options).sent
    assert "belongs to user 65534" in caplog.text


def test_a_push_needs_no_notes(
    registry: Registry, repository: Callable[[], Reference], disk: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    assert push(registry, disk, repository(), PushOptions(cache=tmp_path / "file")).sent


def test_the_command(repository: Callable[[], Reference], disk: Path, tmp_path: Path) -> None:
    one, two, three = repository(), repository(), repository()

    def told(reference: Reference, cache: str, *options: str) -> str:
        arguments = ["image", "push", str(disk), str(reference), "--cache", str(tmp_path / cache), *options]
        run = CliRunner().invoke(cli, arguments)
        assert run.exit_code == 0, run.output
        return run.output

    assert "sent" in told(one, "a")
    assert "its layer was there already" in told(two, "a")
    assert "its layer was there already" in told(three, "b", "--mount-from", one.name)


def test_another_registry_is_refused_before_the_disk_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    options = ["--mount-from", "registry.example/disks", "--cache", str(tmp_path / "cache")]
    done = CliRunner().invoke(cli, ["image", "push", str(tmp_path / "empty"), "other.example/disks:1", *options])
    assert done.exit_code == 1
    assert "name a repository of other.example" in done.output
