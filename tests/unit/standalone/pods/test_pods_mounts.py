"""What is mounted for pods is found under any name, and its data outlives the pod."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingot.standalone.pods.directory import PodDirectory
from ingot.standalone.pods.ending import Ending
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.mounts import is_mounted, mounted_below, unmount_below

UID = "3f2b"
NAMES = ("Größe", "two words", "back\\slash", "tab\tand\nline", "#1", "日本", "\udcff")


@pytest.fixture
def place(tmp_path: Path) -> PodDirectory:
    return PodDirectory(tmp_path / "kübel", UID)


def tmpfs(path: Path) -> Path:
    """Mounts a filesystem with a file in it; where that is. Skips where nobody may."""
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "ingot-test", str(path)]
    answer = subprocess.run(command, check=False, capture_output=True, text=True)
    if answer.returncode != 0:
        pytest.skip(f"nothing can be mounted here: {answer.stderr.strip()}")
    (path / "data").write_text("stays")
    return path


@pytest.fixture(autouse=True)
def _leave_nothing(tmp_path: Path) -> Iterator[None]:
    yield
    for path in reversed(mounted_below(tmp_path)):
        subprocess.run(["umount", "--lazy", path], check=True)


@pytest.mark.parametrize("name", NAMES)
async def test_a_mount_is_found_and_unmounted_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmpfs(tmp_path / "volumes" / name)
    assert mounted_below(tmp_path / "volumes") == [path]
    assert is_mounted(path)
    await unmount_below(tmp_path / "volumes")
    assert not is_mounted(path)
    assert mounted_below(tmp_path / "volumes") == []


async def test_a_mount_is_found_through_a_link_to_the_directory(tmp_path: Path) -> None:
    tmpfs(tmp_path / "real" / "volumes" / "data")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert is_mounted(tmp_path / "link" / "volumes" / "data")
    await unmount_below(tmp_path / "link" / "volumes")
    assert not is_mounted(tmp_path / "real" / "volumes" / "data")


def test_a_neighbour_whose_name_begins_alike_is_not_below(tmp_path: Path) -> None:
    tmpfs(tmp_path / "volumes-2")
    assert mounted_below(tmp_path / "volumes") == []


async def test_data_of_a_volume_that_cannot_be_unmounted_outlives_the_pods_end(place: PodDirectory) -> None:
    volume = tmpfs(place.volume("nfs", "größe"))
    (place.volume("secret", "key")).mkdir(parents=True)
    with (volume / "data").open(), pytest.raises(PodFault, match="busy") as stuck:
        await Ending(place.root).remove(UID)
    assert stuck.value.reason == "FailedUnMount"
    assert (volume / "data").read_text() == "stays"
    await Ending(place.root).remove(UID)
    assert not place.path.exists()


async def test_data_of_a_volume_that_nobody_unmounts_outlives_the_pods_end(
    place: PodDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = tmpfs(place.volume("nfs", "größe"))

    async def nothing(_path: Path) -> None:
        return None

    monkeypatch.setattr("ingot.standalone.pods.ending.unmount_below", nothing)
    with pytest.raises(OSError, match="unmount it"):
        await Ending(place.root).remove(UID)
    assert [path.name for path in volume.iterdir()] == ["data"]


async def test_the_end_of_a_pod_whose_files_go_meanwhile_is_no_error(place: PodDirectory) -> None:
    place.volume("secret", "key").mkdir(parents=True)
    await Ending(place.root).remove(UID)
    await Ending(place.root).remove(UID)
    await Ending(place.root).release(UID)
    assert not place.path.exists()
