"""Times as Kubernetes reads them, with Go's words for what is wrong."""

import pytest

from ingot.standalone import times

LAYOUT = "2006-01-02T15:04:05Z07:00"
MICRO = "2006-01-02T15:04:05.000000Z07:00"


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z"),
        ("2020-01-01T00:00:00.9Z", "2020-01-01T00:00:00Z"),
        ("2020-01-01T1:00:00Z", "2020-01-01T01:00:00Z"),
    ],
)
def test_times_are_stored_in_utc_to_the_second(text: str, stored: str) -> None:
    assert times.canonical(text) == stored


def test_micro_times_keep_their_microseconds() -> None:
    assert times.canonical("2020-01-01T00:00:00.123456+01:00", micro=True) == "2019-12-31T23:00:00.123456Z"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x", f'parsing time "x" as "{LAYOUT}": cannot parse "x" as "2006"'),
        ("2020-01-01", f'parsing time "2020-01-01" as "{LAYOUT}": cannot parse "" as "T"'),
        ("2020-13-01T00:00:00Z", 'parsing time "2020-13-01T00:00:00Z": month out of range'),
        ("2020-02-30T00:00:00Z", 'parsing time "2020-02-30T00:00:00Z": day out of range'),
        ("2020-01-01T25:00:00Z", 'parsing time "2020-01-01T25:00:00Z": hour out of range'),
        ("2020-01-01T00:00:00Zx", 'parsing time "2020-01-01T00:00:00Zx": extra text: "x"'),
    ],
)
def test_faults_are_told_as_go_tells_them(text: str, fault: str) -> None:
    with pytest.raises(times.TimeError) as caught:
        times.canonical(text)
    assert str(caught.value) == fault


def test_a_micro_time_needs_all_six_digits() -> None:
    with pytest.raises(times.TimeError, match=r'cannot parse "\.5Z" as "\.000000"'):
        times.canonical("2020-01-01T00:00:00.5Z", micro=True)
