"""Programs that can open only what they are given."""

import subprocess
from pathlib import Path

import pytest

from ingot.host.confinement import Confinement, confinement_available

pytestmark = pytest.mark.skipif(not confinement_available(), reason="this kernel has no Landlock")
PROGRAMS = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/bin", "/not/there", "/etc/ld.so.cache")))


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("secret")
    return path


def run(confinement: Confinement, script: str, *descriptors: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", script],
        preexec_fn=confinement.enter,
        pass_fds=descriptors,
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_what_is_given_is_read(tmp_path: Path, secret: Path) -> None:
    given = tmp_path / "given"
    given.write_text("given")
    with given.open("rb") as file, Confinement(PROGRAMS, [file.fileno()], tmp_path) as confinement:
        number = file.fileno()
        assert run(confinement, f"cat /proc/self/fd/{number}", number).stdout == "given"
        ended = run(confinement, f"cat {secret}")
        assert (ended.stdout, ended.returncode) == ("", 1)
        assert "Permission denied" in ended.stderr
    assert secret.read_text() == "secret"


def test_nothing_is_written_and_only_sockets_are_made(tmp_path: Path, secret: Path) -> None:
    with Confinement(PROGRAMS, [], tmp_path) as confinement:
        assert run(confinement, f"echo more > {secret}").returncode != 0
        assert run(confinement, f"echo new > {tmp_path / 'new'}").returncode != 0
        assert run(confinement, "echo nothing > /dev/null").returncode == 0
    assert list(tmp_path.iterdir()) == [secret]
    assert secret.read_text() == "secret"
