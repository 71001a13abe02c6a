"""What a guest says is told from the echo of what was typed."""

import pytest

from ingot.cli.vm.ear import Ear


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (b"", [b"boot... DO", b"NE"]),
        (b"echo DONE\n", [b"# echo DONE\r\n", b"DONE\r\n"]),
        (b"echo DONE\n", [b"echo DONE\r\n# ", b"echo DONE\r\n", b"DO", b"NE"]),
        (b"cat\nDONE\n", [b"# cat\r\nDONE\r\n", b"DONE\r\n"]),
        (b"uname; echo is it DONE yet\n", [b"# uname; echo is \r it DO", b"NE yet\r\nLinux\r\n", b"is it not? DONE"]),
    ],
)
def test_only_what_the_guest_says_counts(typed: bytes, said: list[bytes]) -> None:
    ear = Ear(b"DONE")
    for number in range(len(typed)):
        ear.type(typed[number : number + 1])
    heard = [ear.hears(chunk) for chunk in said]
    assert heard == [False] * (len(said) - 1) + [True]


def test_a_long_talk_is_not_kept() -> None:
    ear = Ear(b"DONE")
    assert not any(ear.hears(b"x" * 1000) for _ in range(100))
    assert not ear.hears(b"DO")
    assert ear.hears(b"NE")
    assert not Ear(b"").hears(b"anything")
