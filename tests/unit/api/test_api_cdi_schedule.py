import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.cdi.schedule import MACROS, Schedule, ScheduleError

EVERY_DAY = frozenset(range(1, 32))


def test_stars_and_steps():
    schedule = Schedule.parse("42 */12 * * *")
    assert schedule.minutes == {42}
    assert schedule.hours == {0, 12}
    assert schedule.days == EVERY_DAY
    assert schedule.any_day
    assert schedule.any_weekday


def test_lists_ranges_and_starts():
    schedule = Schedule.parse("0,30 8-18/5 5/10 jan,JUN-aug mon-Fri")
    assert schedule.minutes == {0, 30}
    assert schedule.hours == {8, 13, 18}
    assert schedule.days == {5, 15, 25}
    assert schedule.months == {1, 6, 7, 8}
    assert schedule.weekdays == {1, 2, 3, 4, 5}
    assert not schedule.any_day
    assert not schedule.any_weekday


def test_sunday_is_0_and_7():
    assert Schedule.parse("0 0 * * 7") == Schedule.parse("0 0 * * 0") == Schedule.parse("@weekly")


def test_a_question_mark_is_a_star():
    assert Schedule.parse("0 0 ? * *").any_day


@pytest.mark.parametrize("macro", MACROS)
def test_macros(macro):
    assert Schedule.parse(macro) == Schedule.parse(MACROS[macro])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "five fields are expected, not 0"),
        ("* * * *", "five fields are expected, not 4: minute, hour, day of month, month, day of week"),
        ("* * * * * *", "not 6"),
        ("60 * * * *", "minute has '60' where 0 to 59 is expected"),
        ("* 24 * * *", "hour has '24'"),
        ("* * 0 * *", "day of month has '0' where 1 to 31 is expected"),
        ("* * * foo *", "month has 'foo' where 1 to 12, or JAN to DEC is expected"),
        ("* * * * 8", "day of week has '8'"),
        ("5-1 * * * *", "minute has a range '5-1' that runs backwards"),
        ("*/0 * * * *", "minute has a step '0' where a positive number is expected"),
        ("*/x * * * *", "minute has a step 'x'"),
        ("1,,2 * * * *", "minute has ''"),
        ("-1 * * * *", "minute has ''"),
        ("²0 * * * *", "minute has '²0'"),
        ("@every 1h", "not 2"),
        ("@often", "no such macro; known are @yearly"),
        ("0 0 31 2,4 *", "would never run"),
    ],
)
def test_refusals(text, why):
    with pytest.raises(ScheduleError) as caught:
        Schedule.parse(text)
    assert why in caught.value.why
    assert caught.value.text == text


def test_a_leap_day_and_a_weekday_do_run():
    assert Schedule.parse("0 0 29 2 *").days == {29}
    assert Schedule.parse("0 0 31 2 mon").weekdays == {1}


@given(st.text(alphabet="0123456789*/-,?@ abcdefghijklmnopqrstuvwxyz", max_size=30))
def test_any_text_parses_or_is_refused(text):
    try:
        schedule = Schedule.parse(text)
    except ScheduleError:
        return
    assert schedule.minutes <= set(range(60))
    assert schedule.weekdays <= set(range(7))
    assert schedule.minutes
    assert schedule.hours
    assert schedule.days
    assert schedule.months
    assert schedule.weekdays
