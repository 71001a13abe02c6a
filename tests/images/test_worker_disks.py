"""`ingot worker` with registries, NBD servers, devices and other volumes."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from guest.servers.certificates import Certificates
from guest.servers.nbdkit import Nbdkit
from images.servers.faulty import Asked, FaultyServer, RangeHandler
from images.servers.limited import LimitedProxy
from images.servers.registry import PASSWORD, USER, DockerRegistry
from images.test_image_push import push
from images.workers import Worker, secret
from ingot.images.push import PushOptions
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.platform import parse_platform
from ingot.images.registry.settings import Settings

SIZE = 6 << 20


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("disk") / "disk.raw"
    noise = random.Random(11)  # noqa: S311
    with path.open("wb") as file:
        for start in (0, 1 << 20, 3 << 20):
            file.seek(start)
            file.write(noise.randbytes(700_000))
        file.truncate(SIZE)
    return path


def _registry(tmp_path: Path, url: str, *words: object) -> Worker:
    return Worker(tmp_path, "import", "--source-kind", "registry", *words, url=url)


def test_from_a_registry(tmp_path: Path, disk: Path, registry: Registry, repository: Callable[[], Reference]) -> None:
    """G1: registry."""
    reference = repository()
    pushed = push(registry, disk, reference)
    worker = _registry(tmp_path, f"docker://{reference}", "--size", 8 << 20)
    told = worker.succeed()
    assert (told["virtualSize"], str(pushed.digest) in told["identity"]) == (8 << 20, True)
    assert worker.disk.read_bytes() == disk.read_bytes() + bytes(2 << 20)
    assert worker.only_the_disk()
    (tmp_path / "inspect").mkdir()
    asked = Worker(tmp_path / "inspect", "inspect", "--source-kind", "registry", url=f"docker://{reference}").succeed()
    assert asked["virtualSize"] == SIZE


def test_an_image_for_another_architecture(
    tmp_path: Path, disk: Path, registry: Registry, repository: Callable[[], Reference]
) -> None:
    reference = repository()
    push(registry, disk, reference, PushOptions(platform=parse_platform("linux/arm64")))
    _registry(tmp_path, f"docker://{reference}", "--architecture", "arm64").succeed()
    (tmp_path / "other").mkdir()
    told = _registry(tmp_path / "other", f"docker://{reference}", "--architecture", "s390x").fail()
    assert (told["reason"], told["retry"]) == ("NoPlatform", False)


def test_a_registry_that_wants_a_password(tmp_path: Path, disk: Path, password_registry: DockerRegistry) -> None:
    from ingot.images.registry.credentials import Credentials

    reference = Reference.parse(f"{password_registry.host}/worker:v1")
    with Registry(Settings(logins={password_registry.host: Credentials(USER, PASSWORD)})) as client:
        push(client, disk, reference)
    told = _registry(tmp_path, f"docker://{reference}").fail()
    assert (told["reason"], told["retry"]) == ("Unauthorized", False)
    assert "secretRef" in told["message"]
    bad = secret(tmp_path / "bad", accessKeyId=USER, secretKey="WRONG-SECRET")
    worker = _registry(tmp_path, f"docker://{reference}", "--secret", bad)
    assert worker.fail()["reason"] == "Unauthorized"
    assert "WRONG-SECRET" not in worker.log
    good = secret(tmp_path / "good", accessKeyId=USER, secretKey=PASSWORD)
    _registry(tmp_path, f"docker://{reference}", "--secret", good).succeed()


def test_a_registry_with_tls(
    tmp_path: Path, disk: Path, tls_registry: DockerRegistry, certificates: Certificates
) -> None:
    certs = secret(tmp_path / "certs", ca_crt=certificates.authority)
    reference = Reference.parse(f"{tls_registry.host}/worker:v1")
    with Registry(Settings(ca=certs)) as client:
        push(client, disk, reference)
    told = _registry(tmp_path, f"docker://{reference}").fail()
    assert (told["reason"], told["retry"]) == ("BadCertificate", False)
    _registry(tmp_path, f"docker://{reference}", "--certs", certs).succeed()


@pytest.fixture
def exports(tmp_path: Path, disk: Path) -> Path:
    directory = tmp_path / "exports"
    directory.mkdir()
    shutil.copy(disk, directory / "disk")
    return directory


def test_from_nbd(tmp_path: Path, disk: Path, exports: Path) -> None:
    """G1: nbd."""
    if lacking := Nbdkit.why_not():
        pytest.skip(lacking)
    with Nbdkit(exports) as server:
        worker = Worker(tmp_path, "import", "--source-kind", "nbd", url=server.uri("disk"))
        worker.succeed()
    assert worker.disk.read_bytes() == disk.read_bytes()


def test_from_nbd_with_certificates(tmp_path: Path, disk: Path, exports: Path) -> None:
    """The server wants to know us, and we want to know it."""
    if lacking := Nbdkit.why_not():
        pytest.skip(lacking)
    known = Certificates()
    with Nbdkit(exports, known) as server:
        words = ("--source-kind", "nbd", "--certs", secret(tmp_path / "certs", ca_crt=known.authority))
        stranger = Worker(tmp_path, "import", *words, url=server.uri("disk"))
        assert "reason" in stranger.fail()
        own = secret(tmp_path / "own", tls_crt=known.client_certificate, tls_key=known.client_key)
        worker = Worker(tmp_path, "import", *words, "--secret", own, url=server.uri("disk"))
        worker.succeed()
    assert worker.disk.read_bytes() == disk.read_bytes()


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Path]:
    """A block device of 8 MiB with another disk's bytes all over it."""
    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("loop devices need root, and losetup of mount")
    backing = tmp_path / "backing"
    backing.write_bytes(b"\xaa" * (8 << 20))
    made = subprocess.run(["losetup", "-f", "--show", backing], check=True, capture_output=True, text=True)
    path = Path(made.stdout.strip())
    # As the pods of one machine see it.
    (tmp_path / "volume").symlink_to(path)
    yield tmp_path / "volume"
    subprocess.run(["losetup", "-d", path], check=True)


@pytest.mark.parametrize("preallocate", [False, True])
def test_a_device(
    tmp_path: Path,
    disk: Path,
    device: Path,
    registry: Registry,
    repository: Callable[[], Reference],
    preallocate: bool,
) -> None:
    reference = repository()
    push(registry, disk, reference)
    words = ("--preallocate",) if preallocate else ()
    worker = Worker(tmp_path, "import", "--source-kind", "registry", *words, url=f"docker://{reference}", target=device)
    worker.succeed()
    assert device.read_bytes() == disk.read_bytes() + bytes((8 << 20) - SIZE)
    used = (tmp_path / "backing").stat().st_blocks * 512
    assert used >= 8 << 20 if preallocate else used < 4 << 20


def test_a_blank_device_is_all_zeros(tmp_path: Path, device: Path) -> None:
    Worker(tmp_path, "import", "--source-kind", "blank", "--size", 8 << 20, target=device).succeed()
    assert device.read_bytes() == bytes(8 << 20)


def test_a_device_that_is_too_small(tmp_path: Path, device: Path) -> None:
    told = Worker(tmp_path, "import", "--source-kind", "blank", "--size", 16 << 20, target=device).fail()
    assert (told["reason"], told["retry"]) == ("TooLarge", False)
    assert device.read_bytes() == b"\xaa" * (8 << 20)


def test_from_a_device_to_a_file_and_back(tmp_path: Path, device: Path) -> None:
    """Holes are found among the zeros of a device."""
    content = os.urandom(1 << 20) + bytes(7 << 20)
    device.write_bytes(content)
    copied = Worker(tmp_path, "copy", "--from", device)
    copied.succeed()
    assert copied.disk.read_bytes() == content
    assert copied.disk.stat().st_blocks * 512 <= 2 << 20
    device.write_bytes(b"\xaa" * (8 << 20))
    Worker(tmp_path, "copy", "--from", copied.disk, target=device).succeed()
    assert device.read_bytes() == content


def test_a_copy_has_all_of_its_origin_where_storage_gave_more_than_was_asked_for(tmp_path: Path, device: Path) -> None:
    """The device and the filesystem have the room; what was asked for is the least."""
    content = os.urandom(1 << 20) + bytes(7 << 20)
    device.write_bytes(content)
    copied = Worker(tmp_path, "copy", "--from", device, "--size", 7_000_000)
    assert copied.succeed()["virtualSize"] == 8 << 20
    assert copied.disk.read_bytes() == content
    device.write_bytes(b"\xaa" * (8 << 20))
    Worker(tmp_path, "copy", "--from", copied.disk, "--size", 7_000_000, target=device).succeed()
    assert device.read_bytes() == content


def test_a_copy_that_has_no_room_is_refused(tmp_path: Path, device: Path) -> None:
    source = tmp_path / "source" / "disk.img"
    source.parent.mkdir()
    source.touch()
    os.truncate(source, 9 << 20)
    told = Worker(tmp_path, "copy", "--from", source, "--size", 1 << 20, target=device).fail()
    assert (told["reason"], told["retry"]) == ("TooLarge", False)


def test_a_copy_that_is_killed_goes_on(tmp_path: Path) -> None:
    """B8: the copy of a volume through a pod."""
    source = tmp_path / "source" / "disk.img"
    source.parent.mkdir()
    with source.open("wb") as file:
        for start in range(0, 768 << 20, 64 << 20):
            file.seek(start)
            file.write(os.urandom(48 << 20))
        file.truncate(1 << 30)
    worker = Worker(tmp_path, "copy", "--from", source)
    process = worker.start()
    told = worker.wait_for(64 << 20, process)
    assert told["total"] == 576 << 20
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not worker.disk.exists()
    worker.succeed()
    assert subprocess.run(["cmp", source, worker.disk], check=False).returncode == 0
    assert worker.disk.stat().st_blocks <= source.stat().st_blocks + 1024
    assert worker.only_the_disk()


def test_an_import_to_a_device_that_is_killed_goes_on(
    tmp_path: Path, device: Path, docker_registry: DockerRegistry, registry: Registry
) -> None:
    """The journal is in the pod's own directory, and lasts as long as the pod."""
    full = tmp_path / "full.raw"
    full.write_bytes(os.urandom(SIZE))
    reference = Reference.parse(f"{docker_registry.host}/worker/device:v1")
    push(registry, full, reference)
    with LimitedProxy(docker_registry.port, 2e6) as slow:
        url = f"docker://{slow.host}/{reference.repository}:v1"
        worker = Worker(tmp_path, "import", "--source-kind", "registry", url=url, target=device)
        slow.hold_after(3 << 20)
        process = worker.start()
        worker.wait_for(1 << 20, process)
        # What was done is written down a moment after it is told.
        worker.wait_for_journal()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        before = slow.sent
        slow.hold_after(math.inf)
        worker.succeed()
        assert slow.sent - before < SIZE - 500_000
    assert device.read_bytes() == full.read_bytes() + bytes((8 << 20) - SIZE)


def test_what_has_to_be_put_aside_is_not_in_the_volume(tmp_path: Path) -> None:
    """QEMU wants all of a vmdk before it decodes it: a volume with room for the disk has none for both."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    raw, image = tmp_path / "disk.raw", tmp_path / "disk.vmdk"
    raw.write_bytes(os.urandom(SIZE))
    subprocess.run(["qemu-img", "convert", "-O", "vmdk", raw, image], check=True)
    worker = Worker(tmp_path, "import", "--source-kind", "http", "--size", SIZE, url="set below")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", worker.data], check=True)
    try:
        with FaultyServer(RangeHandler(image.read_bytes())) as server:
            worker.url = f"{server.url}/disk.vmdk"
            worker.succeed()
        assert worker.disk.read_bytes() == raw.read_bytes()
        assert worker.only_the_disk()
        assert list((tmp_path / "state").iterdir()) == []
    finally:
        subprocess.run(["umount", worker.data], check=True)


def test_a_full_volume_is_told(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    worker = Worker(tmp_path, "import", "--source-kind", "blank", "--size", SIZE, "--preallocate")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", worker.data], check=True)
    try:
        told = worker.fail()
        assert (told["reason"], told["retry"]) == ("DiskFull", True), "others may make room, or a claim grows"
        assert str(tmp_path) not in told["message"]
        assert list(worker.data.iterdir()) == []
    finally:
        subprocess.run(["umount", worker.data], check=True)


def test_a_volume_that_is_full_is_told_and_not_the_room_beside_it(tmp_path: Path) -> None:
    """On one machine both are on one filesystem, and a disk in ranges has nothing put aside."""
    if os.geteuid() != 0:
        pytest.skip("mounts need root")
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], check=True)
    try:
        worker = Worker(place, "import", "--source-kind", "http")
        with FaultyServer(RangeHandler(os.urandom(SIZE))) as server:
            worker.url = f"{server.url}/disk"
            told = worker.fail()
        assert (told["reason"], told["retry"]) == ("DiskFull", True)
        assert "make room for" in told["message"]
    finally:
        subprocess.run(["umount", place], check=True)


def test_the_first_process_of_a_container_ends_when_it_is_told_to(tmp_path: Path) -> None:
    """The kernel gives such a process only the signals that it handles."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("namespaces need root, and unshare of util-linux")
    asked = threading.Event()

    def silent(_asked: Asked, client: socket.socket) -> None:
        asked.set()
        client.recv(1)

    with FaultyServer(silent) as server:
        worker = Worker(tmp_path, "import", "--source-kind", "http", url=f"{server.url}/disk")
        process = worker.start("unshare", "--pid", "--fork")
        assert asked.wait(30)
        (inner,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(inner), signal.SIGTERM)
        assert process.wait(5) == 128 + signal.SIGTERM
