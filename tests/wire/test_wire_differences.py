"""The page of differences says what the suite knows, and the suite knows no difference that is not there."""

from pathlib import Path

from wire.differences import ABSENT, DIFFERENCES
from wire.transcript import GOLDEN

PAGE = Path(__file__).parents[2] / "docs" / "wire.md"


def rows() -> list[str]:
    """The lines of the page's tables, with their cells."""
    listed = [(case.partition("/")[2].replace("_", " "), reason) for case, reason in DIFFERENCES.items()]
    absent = [(f"`{entry}`", reason) for entry, reason in ABSENT.items()]
    return [f"| {what} | {reason} |" for what, reason in listed + absent]


def test_the_page_shows_the_differences_and_no_others() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    heads = [line for line in shown if line.startswith(("| Case", "| Not served", "| ---"))]
    assert [line for line in shown if line not in heads] == rows()


def test_every_difference_is_a_case_that_is_recorded() -> None:
    assert [case for case in DIFFERENCES if not (GOLDEN / f"{case}.json").exists()] == []


def test_every_recording_is_of_a_case() -> None:
    modules = {path.stem.removeprefix("test_wire_"): path.read_text() for path in GOLDEN.parent.glob("test_wire_*.py")}
    stale = []
    for recording in GOLDEN.rglob("*.json"):
        # What follows a dash are the parameters of the case.
        function = f"async def test_{recording.stem.partition('-')[0]}("
        if function not in modules.get(recording.parent.name, ""):
            stale.append(f"{recording.parent.name}/{recording.name}")
    assert stale == []
