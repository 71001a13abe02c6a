import pytest

from growth import assert_linear
from ingot.standalone.schema.formats import checker, go_duration, parse_duration

HOUR = 3600 * 10**9


@pytest.mark.parametrize("name", ["int32", "int64", "float", "double", "foo", ""])
def test_formats_that_kubernetes_ignores_have_no_test(name: str) -> None:
    assert checker(name) is None


def test_dashes_in_a_name_do_not_count() -> None:
    assert checker("date-time") is checker("datetime")


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1h30m", HOUR * 3 // 2),
        ("1.5h", HOUR * 3 // 2),
        ("-1s", -(10**9)),
        ("22 ns", 22),
        ("2 days", 48 * HOUR),
        ("1 week 1 day", 8 * 24 * HOUR),
        ("0", 0),
        ("1", None),
        ("x", None),
        ("1 parsec", None),
    ],
)
def test_durations_of_go_and_of_scala_are_read(text: str, nanoseconds: int | None) -> None:
    assert parse_duration(text) == nanoseconds


def test_rules_read_only_durations_of_go() -> None:
    assert go_duration("2 days") is None
    assert go_duration("1h1m1s1ms1us1ns") == HOUR + 61 * 10**9 + 1_001_001


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("email", ["a@b.c", "A B <a@b.c>", '"x y"@b.c'], ["a", "@b", "a@", "a b@c"]),
        ("creditcard", ["4111 1111 1111 1111"], ["4111 1111 1111 1112", "1"]),
        ("isbn", ["0321751043", "978-0321751041", "080442957X"], ["0321751044", "1"]),
        ("mac", ["00:00:5e:00:53:01", "0000.5e00.5301"], ["00:00:5e:00:53", "00-00:5e:00:53:01"]),
        ("date", ["2024-02-29", "2000-02-29"], ["2023-02-29", "1900-02-29", "2023-13-01", "2023-1-1"]),
        ("cidr", ["10.0.0.0/8", "::/0", "010.0.0.1/32"], ["10.0.0.0/33", "10.0.0.0", "x/8", "10.0.0.0/"]),
    ],
)
def test_texts_are_told_apart(name: str, good: list[str], bad: list[str]) -> None:
    test = checker(name)
    assert test is not None
    assert [text for text in good + bad if test(text)] == good


def test_an_address_that_never_ends_takes_no_time() -> None:
    test = checker("email")
    assert test is not None
    assert not test("a" * 20_000)


@pytest.mark.parametrize(
    ("name", "before", "repeated", "after"),
    [
        ("duration", "", "9", ""),
        ("duration", "", "9", "h"),
        ("duration", "", "9", " days"),
        ("email", "", " ", ""),
        ("email", "", "a.", ""),
        ("rgbcolor", "rgb(", " ", ""),
        ("byte", "a", "aaaa", ""),
        ("hostname", "", "a", ""),
    ],
)
def test_a_long_text_is_refused_in_time(name: str, before: str, repeated: str, after: str) -> None:
    check = checker(name)
    assert check is not None
    assert_linear(lambda length: check(before + repeated * length + after), 50_000)
    assert not any(check(before + repeated * length + after) for length in (400, 5000, 50_000))
