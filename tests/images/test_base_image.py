"""The base of container disks, and the two lines of seed 004 on it (R1)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from images.builder import Builder
from ingot.images.container_disk import open_container_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry

ROOT = Path(__file__).parents[2]
ENTRY = ROOT / "deploy" / "disk" / "serve-disk"


@pytest.fixture
def qcow2(tmp_path: Path) -> Path:
    path = tmp_path / "fedora25.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, "16M"], check=True)
    subprocess.run(["qemu-io", "-c", "write -q -P 0x5a 1M 200k", path], check=True)
    return path


def environment(directory: Path) -> dict[str, str]:
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PATH": programs, "INGOT_DISK": str(directory), "INGOT_CACHE": str(directory.parent / "cache")}


@contextmanager
def running(command: Sequence[str | Path], environment: Mapping[str, str]) -> Iterator[None]:
    """The entry point, with a server that answers."""
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert "serving" in server.stdout.readline()
        yield
    finally:
        server.terminate()
        server.communicate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make the base image")
def test_a_container_of_the_two_lines_serves_the_disk(tmp_path: Path, qcow2: Path) -> None:
    """On the base that `make image` builds of Debian's packages."""
    for tool in ("mmdebstrap", "buildah"):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}: apt-get install {tool}")
    storage, context, shared = (tmp_path / name for name in ("storage.conf", "context", "shared"))
    storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{tmp_path}/graph"\nrunroot = "{tmp_path}/run"\n')
    buildah = partial(subprocess.run, check=True, text=True, env=os.environ | {"CONTAINERS_STORAGE_CONF": str(storage)})
    buildah([ROOT / "tools" / "image.sh", "disk", "kubevirt.io:disk"])
    context.mkdir()
    shutil.copy(qcow2, context)
    (context / "Dockerfile").write_text("FROM kubevirt.io:disk\nADD fedora25.qcow2 /disk\n")
    buildah(["buildah", "build", "-q", "--isolation", "chroot", "-t", "fedora25", context])
    made = buildah(["buildah", "from", "fedora25"], stdout=subprocess.PIPE).stdout.strip()
    shared.mkdir()
    shared.chmod(0o777)
    container = ["buildah", "run", "--isolation", "chroot", "-v", f"{shared}:/shared", made, "serve-disk"]
    with running([*container, "--socket", "/shared/nbd"], buildah.keywords["env"]):
        uri = f"nbd+unix:///disk?socket={shared / 'nbd'}"
        subprocess.run(["qemu-img", "compare", "-q", uri, qcow2], check=True)


def test_the_two_lines_make_an_image_that_is_opened(
    registry: Registry, repository: Callable[[], Reference], tmp_path: Path, qcow2: Path
) -> None:
    if lacking := Builder.why_not():
        pytest.skip(lacking)
    builder = Builder(tmp_path / "buildah")
    (tmp_path / "root" / "disk").mkdir(parents=True)
    subprocess.run(["tar", "-C", tmp_path / "root", "-cf", tmp_path / "root.tar", "disk"], check=True)
    builder.build("kubevirt.io-disk", "FROM scratch\nADD root.tar /\n", {"root.tar": tmp_path / "root.tar"})
    builder.build("fedora25", "FROM kubevirt.io-disk\nADD fedora25.qcow2 /disk\n", {"fedora25.qcow2": qcow2})
    reference = repository()
    builder.push("fedora25", reference)
    disk = open_container_disk(registry, registry.resolve(reference))
    assert disk.name == "disk/fedora25.qcow2"
    with disk.stream() as stream:
        assert b"".join(bytes(data) for data in stream) == qcow2.read_bytes()


def test_the_entry_point_serves_the_disk(tmp_path: Path, qcow2: Path) -> None:
    directory, socket = tmp_path / "disk", tmp_path / "nbd"
    directory.mkdir()
    qcow2.rename(directory / "fedora25.qcow2")
    with running([sys.executable, ENTRY, "--socket", socket], environment(directory)):
        uri = f"nbd+unix:///disk?socket={socket}"
        size = subprocess.run(["nbdinfo", "--size", uri], check=True, capture_output=True, text=True).stdout
        assert int(size) == 16 << 20
        subprocess.run(["qemu-img", "compare", "-q", uri, directory / "fedora25.qcow2"], check=True)


@pytest.mark.parametrize(("files", "why"), [([], "there is no disk in"), (["a", "b"], "there are 2 files in")])
def test_the_entry_point_says_what_is_wrong(tmp_path: Path, files: list[str], why: str) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    assert why in refused(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run it as another user")
def test_the_entry_point_needs_a_disk_that_it_can_read() -> None:
    with tempfile.TemporaryDirectory(prefix="ingot-") as made:
        directory = Path(made)
        directory.chmod(0o755)
        (directory / "disk").write_bytes(b"x")
        (directory / "disk").chmod(0o600)
        assert "`ADD --chown=107:107` it, or make it mode 0644" in refused(directory, user=107)


def refused(directory: Path, user: int | None = None) -> str:
    """What the entry point says."""
    # Another user may not be able to open it where it is.
    done = subprocess.run(
        ["/usr/bin/python3", "-"],
        input=ENTRY.read_text(),
        env=environment(directory),
        capture_output=True,
        text=True,
        cwd="/",
        user=user,
        group=user,
    )
    assert done.returncode == 1
    return done.stderr
