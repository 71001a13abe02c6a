from pathlib import Path

import pytest

from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.paths import places, translated

WHERE = {"/data": "/host/d", "/data/inner": "/host/i", "/dev/ingot/a": "/dev/loop1"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/data", "/host/d"),
        ("/data/disk.img", "/host/d/disk.img"),
        ("/data/inner/x", "/host/i/x"),
        ("--file=/data/x --other=/data/inner", "--file=/host/d/x --other=/host/i"),
        ("file:/data/x,/data/y", "file:/host/d/x,/host/d/y"),
        ("cat '/data/x'; cat \"/data\"", "cat '/host/d/x'; cat \"/host/d\""),
        ("/database /my/data /data.old /data-2", "/database /my/data /data.old /data-2"),
        ("/dev/ingot/a", "/dev/loop1"),
        ("/dev/ingot/ab", "/dev/ingot/ab"),
        ("http://[::1]/data/x http://h:80/data/x", "http://[::1]/data/x http://h:80/data/x"),
        ("https://h/get?file=/data/x&at=/data --to=/data/y", "https://h/get?file=/data/x&at=/data --to=/host/d/y"),
        ("nbd+unix:///disk?socket=/data/nbd", "nbd+unix:///disk?socket=/host/d/nbd"),
        ("", ""),
    ],
)
def test_paths_below_mounts_are_those_of_the_machine(text: str, wanted: str) -> None:
    assert translated(text, WHERE) == wanted


def test_mounts_devices_and_last_words_have_places(tmp_path: Path) -> None:
    container = {
        "volumeMounts": [{"name": "v", "mountPath": "/v"}, {"name": "v", "mountPath": "/part", "subPath": "a/b"}],
        "volumeDevices": [{"name": "d", "devicePath": "/dev/x"}],
    }
    found = places(container, {"v": tmp_path, "d": Path("/dev/null")}, Path("/m"))
    assert found == {
        "/dev/termination-log": "/m",
        "/v": str(tmp_path),
        "/part": str(tmp_path.resolve() / "a/b"),
        "/dev/x": "/dev/null",
    }


def test_a_sub_path_cannot_leave_its_volume(tmp_path: Path) -> None:
    (tmp_path / "volume").mkdir()
    (tmp_path / "volume" / "link").symlink_to("/etc")
    for part in ("../x", "link/passwd"):
        container = {"volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": part}]}
        with pytest.raises(PodFault, match="leads out of volume 'v'"):
            places(container, {"v": tmp_path / "volume"}, Path("/m"))


def test_a_mount_of_no_volume_is_final() -> None:
    with pytest.raises(PodFault, match="no volume 'x'") as caught:
        places({"volumeMounts": [{"name": "x", "mountPath": "/v"}]}, {}, Path("/m"))
    assert caught.value.final
