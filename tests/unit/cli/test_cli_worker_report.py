"""The last words of a worker."""

import json
from pathlib import Path

import pytest

from ingot.cli.worker.report import MOST_BYTES, encode, reporting, words
from ingot.images.fault import ImageFault


def test_what_ended_well_is_told(tmp_path: Path) -> None:
    with reporting(tmp_path / "report", {}) as tell:
        tell({"virtualSize": 10, "done": 5, "identity": "x"})
    assert json.loads((tmp_path / "report").read_text()) == {"virtualSize": 10, "done": 5, "identity": "x"}


@pytest.mark.parametrize(
    ("fault", "retry"),
    [
        (ImageFault("https://host/disk", "NotFound", "it is not there"), False),
        (ImageFault("https://host/disk", "Busy", "its server answers 503", retry=True), True),
        (ImageFault("https://host/disk", "Changed", "it was replaced while it was read: start again"), True),
        (ImageFault("https://host/disk", "Unreachable", "its host cannot be found"), True),
        (ImageFault("/data/disk.img", "InUse", "another import writes to it: wait for that to end"), True),
    ],
)
def test_a_fault_says_whether_another_try_helps(tmp_path: Path, fault: ImageFault, retry: bool) -> None:
    """What cannot heal is final: 404, 401, a wrong checksum, a bad format, a disk that is too large."""
    with pytest.raises(SystemExit) as ended, reporting(tmp_path / "report", {}):
        raise fault
    assert ended.value.code == 1
    told = json.loads((tmp_path / "report").read_text())
    assert (told["reason"], told["message"], told["retry"]) == (fault.reason, str(fault), retry)


def test_a_bug_is_told_without_what_it_had_in_its_hands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), reporting(tmp_path / "report", {}):
        raise ValueError("https://user:SECRET@host")
    told = json.loads((tmp_path / "report").read_text())
    assert (told["reason"], told["retry"]) == ("InternalError", True)
    assert "SECRET" not in told["message"]
    assert "InternalError" in capsys.readouterr().err


def test_a_report_is_never_longer_than_kubernetes_takes() -> None:
    told = encode({"reason": "Long", "message": "ä" * 9000, "retry": True})
    assert len(told) <= MOST_BYTES
    assert json.loads(told)["message"].endswith("ä…")
    assert len(told) > MOST_BYTES - 100


def test_paths_of_this_machine_are_not_told() -> None:
    """On one machine /data is somewhere below the directory of its pod."""
    names = {Path("/pods/7/data/disk.img"): "the volume"}
    fault = ImageFault("/pods/7/data/disk.img", "BadTarget", "/pods/7/data/disk.img cannot be written")
    assert words(fault, names) == "the volume: the volume cannot be written"
    other = ImageFault("https://host/pods/7/data/disk.img", "NotFound", "it is not there")
    assert words(other, names) == "https://host/pods/7/data/disk.img: it is not there"


def test_cures_are_those_of_a_volume() -> None:
    from ingot.images.registry.refusal import LOG_IN

    fault = ImageFault("registry.example/disk:1", "Unauthorized", f"its server does not know us: {LOG_IN}")
    assert words(fault, {}) == (
        "registry.example/disk:1: its server does not know us: name a Secret that it accepts in secretRef"
    )
    large = ImageFault("x", "TooLarge", "it is: --size only grows a disk, so give more, or leave it out")
    assert words(large, {}) == "x: it is: request more storage for the volume"
