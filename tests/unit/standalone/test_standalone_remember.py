"""What is kept of answers: short questions only."""

from ingot.standalone.remember import LONGEST, remember


def test_short_questions_are_answered_once_and_long_ones_every_time() -> None:
    asked: list[int] = []

    @remember(8)
    def length(text: str) -> int:
        asked.append(len(text))
        return len(text)

    for text in ("a", "a", "x" * LONGEST, "x" * LONGEST, "x" * (LONGEST + 1), "x" * (LONGEST + 1)):
        assert length(text) == len(text)
    assert asked == [1, LONGEST, LONGEST + 1, LONGEST + 1]
