"""`ingot image pull`, its progress and its words."""

import gzip
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ingot.cli.image.progress import Progress, in_bytes
from ingot.cli.main import cli


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disk.raw"
    path.write_bytes(os.urandom(100_000) + bytes(1 << 20))
    return path


def _pull(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["image", "pull", *map(str, words)])


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 << 20, "1.5 GiB"), (5000 << 40, "5000.0 TiB")],
)
def test_bytes_for_people(count: int, text: str) -> None:
    assert in_bytes(count) == text


def test_the_line_says_how_much_how_fast_and_how_long() -> None:
    now = [100.0]
    shown = Progress("disk", lambda: now[0])
    shown(10 << 20, 100 << 20)
    now[0] += 4
    assert shown.line(50 << 20, 100 << 20) == "disk: 50.0 MiB of 100.0 MiB (50%), 10.0 MiB/s, 5s left"
    assert shown.line(50 << 20, 0) == "disk: 50.0 MiB, 10.0 MiB/s"
    now[0] += 4
    assert "1m" not in shown.line(50 << 20, 0)


def test_one_line_at_the_end(tmp_path: Path, disk: Path) -> None:
    result = _pull(disk, tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert result.output == f"{tmp_path / 'out'}: a disk of 1.1 MiB; 1.1 MiB fetched, 128.0 KiB written\n"
    assert (tmp_path / "out").read_bytes() == disk.read_bytes()


def test_json_has_every_figure(tmp_path: Path, disk: Path) -> None:
    image = tmp_path / "disk.gz"
    image.write_bytes(gzip.compress(disk.read_bytes()))
    told = json.loads(_pull(image, tmp_path / "out", "--size", "4Mi", "-o", "json").output)
    assert told["size"] == 4 << 20
    assert told["fetched"] == image.stat().st_size
    assert (told["spooled"], told["resumedFrom"], told["target"]) == (0, 0, str(tmp_path / "out"))
    assert (tmp_path / "out").stat().st_size == 4 << 20


def test_what_had_to_be_put_aside_is_told(tmp_path: Path, disk: Path) -> None:
    image = tmp_path / "disk.qcow2"
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", disk, image], check=True)
    (tmp_path / "disk.gz").write_bytes(gzip.compress(image.read_bytes(), 1))
    assert "spooled beside it on the way" in _pull(tmp_path / "disk.gz", tmp_path / "out").output


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--size", "much"), '"much" is not a size, such as 10Gi'),
        (("--limit", "1Ki"), "1024 fit"),
        (("--checksum", "md5:1"), "this is no checksum"),
        (("--format", "vmdk"), "is not one of"),
    ],
)
def test_refusals_are_one_line(tmp_path: Path, disk: Path, words: tuple[str, ...], why: str) -> None:
    result = _pull(disk, tmp_path / "out", *words)
    assert result.exit_code in (1, 2)
    assert why in result.output
    assert result.output.splitlines()[-1].startswith("Error: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("source", ["disk.raw", "https://host/disk", "docker://host/disk:1", "nbd://host/disk"])
def test_a_certificate_is_for_nbd_with_tls(tmp_path: Path, source: str) -> None:
    (tmp_path / "pem").touch()
    result = _pull(source, tmp_path / "out", "--certificate", tmp_path / "pem", "--key", tmp_path / "pem")
    assert result.exit_code == 2
    words = f"--certificate and --key are for an NBD server with TLS (nbds://…), and {source.removeprefix('docker://')}"
    assert f"Error: {words} is none" in result.output


@pytest.mark.parametrize("option", ["--certificate", "--key"])
def test_a_certificate_comes_with_its_key(tmp_path: Path, option: str) -> None:
    (tmp_path / "pem").touch()
    result = _pull("nbds://host/disk", tmp_path / "out", option, tmp_path / "pem")
    assert result.exit_code == 2
    assert "--certificate and --key go together" in result.output


def test_an_unknown_scheme_is_told_what_there_is(tmp_path: Path) -> None:
    result = _pull("ftp://user:secret@host/disk", tmp_path / "out")
    assert "ftp:// is not known" in result.output
    assert "secret" not in result.output


def test_progress_on_a_terminal(tmp_path: Path, disk: Path) -> None:
    """Slow enough to be seen; nothing of it stays on the line of the result."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "ingot", "image", "pull", disk, tmp_path / "out", "--rate", "2M"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    said, _ = process.communicate()
    shown = os.read(master, 65536).decode()
    os.close(master)
    assert process.returncode == 0
    assert said.decode().count("\n") == 1
    assert "out: " in shown
    assert "MiB" in shown
    assert shown.endswith("\r\x1b[K")
