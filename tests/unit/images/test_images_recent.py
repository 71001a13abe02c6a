"""What a client remembers of servers has an end."""

from ingot.images.registry.recent import Recent


def test_the_longest_unused_goes() -> None:
    known: Recent[str, int] = Recent(2)
    assert known.put("a", 1) == 1
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert ("a" in known, "b" in known, "c" in known) == (True, False, True)
    assert len(known) == 2


def test_what_is_there_is_not_made_again() -> None:
    known: Recent[str, list[int]] = Recent(2)
    first = known.made("a", lambda: [1])
    known.put("b", [2])
    assert known.made("a", lambda: [3]) is first
    known.made("c", list)
    assert ("a" in known, "b" in known) == (True, False)
    known.discard("a")
    known.discard("nobody")
    assert known.made("a", lambda: [4]) == [4]
