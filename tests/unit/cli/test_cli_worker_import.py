"""`ingot worker` on files: blank disks, copies, and what is left of them."""

import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ingot.cli.main import HIDDEN, cli
from ingot.cli.worker.group import COMMANDS


@pytest.fixture(autouse=True)
def own_umask() -> Iterator[None]:
    """A worker has its own, which is not that of the other tests."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def _worker(tmp_path: Path, command: str, *words: object) -> tuple[Result, dict[str, object]]:
    report = tmp_path / "report"
    report.touch()
    done = CliRunner().invoke(cli, ["worker", command, "--report", str(report), *map(str, words)])
    return done, json.loads(report.read_text())


def _volume(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "disk.img"


def test_it_is_not_shown_to_people() -> None:
    assert "worker" not in CliRunner().invoke(cli, ["--help"]).output
    assert "worker" in HIDDEN


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_help_with_an_example(name: str) -> None:
    done = CliRunner().invoke(cli, ["worker", name, "--help"])
    assert done.exit_code == 0, done.output
    assert f"ingot worker {name}" in done.output.partition("Example")[2]


def test_a_blank_disk_is_sparse(tmp_path: Path) -> None:
    """G1: blank."""
    target = _volume(tmp_path)
    done, told = _worker(tmp_path, "import", "--source-kind", "blank", "--size", 8 << 20, "--target", target)
    assert done.exit_code == 0, done.output
    assert (target.stat().st_size, target.stat().st_blocks) == (8 << 20, 0)
    assert stat.S_IMODE(target.stat().st_mode) == 0o660, "as CDI: for its owner, and the group of the volume"
    assert told == {"virtualSize": 8 << 20, "done": 0, "identity": f"blank:{8 << 20}"}
    assert [each.name for each in target.parent.iterdir()] == ["disk.img"]


def test_who_takes_the_address_for_progress_stops_no_work(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Any container on the node's network can have that port on all addresses."""
    target = _volume(tmp_path)
    with socket.create_server(("0.0.0.0", 0)) as taken:  # noqa: S104, as a stranger does
        listen = f"127.9.9.9:{taken.getsockname()[1]}"
        words = ("--source-kind", "blank", "--size", 1 << 20, "--target", target, "--listen", listen)
        done, told = _worker(tmp_path, "import", *words)
    assert done.exit_code == 0, done.output
    assert told["virtualSize"] == target.stat().st_size == 1 << 20
    [message] = [record.getMessage() for record in caplog.records if "progress" in record.getMessage()]
    assert "Address already in use" in message
    assert listen.partition(":")[0] in message
    assert message.endswith("the work goes on without that")


def test_preallocation_leaves_no_hole(tmp_path: Path) -> None:
    target = _volume(tmp_path)
    words = ("--source-kind", "blank", "--size", 8 << 20, "--target", target, "--preallocate")
    assert _worker(tmp_path, "import", *words)[0].exit_code == 0
    assert target.stat().st_size == 8 << 20
    assert target.stat().st_blocks * 512 >= 8 << 20


def test_a_blank_disk_needs_a_size(tmp_path: Path) -> None:
    done, told = _worker(tmp_path, "import", "--source-kind", "blank", "--target", _volume(tmp_path))
    assert done.exit_code == 1
    assert (told["reason"], told["retry"]) == ("NoSize", False)


def test_a_finished_volume_is_filled_again(tmp_path: Path) -> None:
    """A worker that was killed before its end was seen is started again."""
    target = _volume(tmp_path)
    for _ in range(2):
        done, _ = _worker(tmp_path, "import", "--source-kind", "blank", "--size", 1 << 20, "--target", target)
        assert done.exit_code == 0


def test_a_copy_is_never_taken_for_another_format(tmp_path: Path) -> None:
    """A guest may write the magic of a qcow2 onto its raw disk, with any file of the node as its backing file."""
    disk = tmp_path / "source.img"
    disk.write_bytes(b"QFI\xfb" + os.urandom((1 << 17) - 4) + bytes(1 << 20))
    target = _volume(tmp_path)
    done, told = _worker(tmp_path, "copy", "--from", disk, "--to", target)
    assert done.exit_code == 0, done.output
    assert target.read_bytes() == disk.read_bytes()
    assert told["virtualSize"] == disk.stat().st_size
    assert target.stat().st_blocks * 512 < 300_000


def test_a_copy_is_grown(tmp_path: Path) -> None:
    disk = tmp_path / "source.img"
    disk.write_bytes(os.urandom(1 << 20))
    target = _volume(tmp_path)
    assert _worker(tmp_path, "copy", "--from", disk, "--to", target, "--size", 4 << 20)[1]["virtualSize"] == 4 << 20
    assert target.read_bytes() == disk.read_bytes() + bytes(3 << 20)


def test_a_copy_that_does_not_fit_is_refused_before_a_byte_is_written(tmp_path: Path) -> None:
    disk = tmp_path / "source.img"
    disk.write_bytes(os.urandom(1 << 20))
    target = _volume(tmp_path)
    done, told = _worker(tmp_path, "copy", "--from", disk, "--to", target, "--size", 4096)
    assert (done.exit_code, told["reason"], told["retry"]) == (1, "TooLarge", False)
    assert str(tmp_path) not in str(told["message"])
    assert list(target.parent.iterdir()) == []


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    done, told = _worker(tmp_path, "copy", "--from", tmp_path / "none.img", "--to", _volume(tmp_path))
    assert (done.exit_code, told["reason"]) == (1, "Unreadable")
    assert str(told["message"]).startswith("the source: ")


def test_files_do_not_go_onto_a_device(tmp_path: Path) -> None:
    """They would be unpacked into /dev."""
    words = ("--source-kind", "http", "--url", "http://127.0.0.1:1/a.tar", "--content-type", "archive")
    done, told = _worker(tmp_path, "import", *words, "--target", tmp_path)
    assert (done.exit_code, told["reason"]) == (1, "BadTarget")


@pytest.mark.parametrize("leads", ["secret", "/dev/null", "nowhere"])
def test_the_disk_of_a_volume_leads_nowhere_else(tmp_path: Path, leads: str) -> None:
    """Whoever may write to a volume could make its disk a link to any file of the machine."""
    (tmp_path / "secret").write_text("SECRET")
    disk = tmp_path / "source" / "disk.img"
    disk.parent.mkdir()
    disk.symlink_to(tmp_path / leads)
    target = _volume(tmp_path)
    done, told = _worker(tmp_path, "copy", "--from", disk, "--to", target)
    assert (done.exit_code, told["reason"]) == (1, "Unreadable")
    assert list(target.parent.iterdir()) == []


def test_a_pipe_is_no_disk(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "disk.img")
    done, told = _worker(tmp_path, "copy", "--from", tmp_path / "disk.img", "--to", _volume(tmp_path))
    assert (done.exit_code, told["reason"]) == (1, "BadSource")


def test_what_has_the_name_of_the_disk_is_never_written_through(tmp_path: Path) -> None:
    """Who may write to the volume could have put a link there, or a device of the machine."""
    target, elsewhere = _volume(tmp_path), tmp_path / "elsewhere"
    elsewhere.write_bytes(b"others")
    for lead in (elsewhere, Path("/dev/null"), Path("/nowhere")):
        target.symlink_to(lead)
        _, report = _worker(tmp_path, "import", "--source-kind", "blank", "--size", 1 << 20, "--target", target)
        assert (report["reason"], report["retry"]) == ("BadTarget", False)
        target.unlink()
    assert elsewhere.read_bytes() == b"others"


@pytest.mark.skipif(os.geteuid() != 0, reason="device nodes need root")
def test_a_device_among_the_files_of_a_volume_is_left_alone(tmp_path: Path) -> None:
    target, node = _volume(tmp_path), tmp_path / "node"
    # A number that no driver has: who opened it would get ENXIO, and not BadTarget.
    os.mknod(node, stat.S_IFBLK | 0o600, os.makedev(240, 250))
    for place in (lambda: target.symlink_to(node), lambda: os.link(node, target)):
        place()
        _, report = _worker(tmp_path, "import", "--source-kind", "blank", "--size", 1 << 20, "--target", target)
        assert (report["reason"], "not a file" in str(report["message"])) == ("BadTarget", True)
        target.unlink()
