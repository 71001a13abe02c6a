"""Quantities: what was read from a real kube-apiserver 1.32.13, and what must hold for all of them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_linear
from ingot.api.quantity import (
    WRONG_FORMAT,
    WRONG_NUMBER,
    WRONG_SUFFIX,
    Quantity,
    QuantityError,
    canonical,
    written,
)


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [
        ("0", "0"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.5", "500m"),
        ("1.500", "1.500"),
        ("2Gi", "2Gi"),
        ("8Gi", "8Gi"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("0.5Gi", "512Mi"),
        ("1.5Ki", "1536"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("1.5e3", "1500"),
        ("100n", "100n"),
        ("0.1n", "1n"),
        ("+1", "+1"),
        ("-1.5Gi", "-1536Mi"),
        ("9Ei", "9223372036854775807"),
        ("10E", "10E"),
        (".5", "500m"),
        ("5.", "5."),
        (" 1 ", "1"),
        ("1000", "1k"),
        ("1000k", "1M"),
        ("010", "010"),
        ("-0", "0"),
        ("+", "0"),
        (5, "5"),
        (0.5, "500m"),
        (2e9, "2G"),
    ],
)
def test_the_stored_form_is_that_of_kubernetes(given_text: str | float, stored: str) -> None:
    assert canonical(given_text) == stored


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", WRONG_FORMAT),
        ("x", WRONG_FORMAT),
        ("1x", WRONG_FORMAT),
        ("1ki", WRONG_SUFFIX),
        ("1e", WRONG_SUFFIX),
        ("1e99999999", WRONG_SUFFIX),
        ("9" * 5000, WRONG_NUMBER),
    ],
)
def test_what_is_no_quantity_is_refused_in_its_words(text: str, fault: str) -> None:
    with pytest.raises(QuantityError) as caught:
        Quantity.parse(text)
    assert str(caught.value) == fault


@pytest.mark.parametrize(("text", "rounded"), [("100n", "1m"), ("1500u", "2m"), ("1500m", "1500m"), ("-1u", "-1m")])
def test_resource_lists_round_up_to_thousandths(text: str, rounded: str) -> None:
    assert Quantity.parse(text).rounded_to_milli() == rounded


def test_bytes_are_rounded_up() -> None:
    assert Quantity.parse("1.5").whole == 2
    assert Quantity.parse("1Ki").whole == 1024
    assert Quantity.parse("-1.5").whole == -1


@given(st.integers(-(10**15), 10**15), st.sampled_from(["", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi"]))
def test_the_stored_form_says_the_same_number_and_is_stable(number: int, suffix: str) -> None:
    factors = {"n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "k": 1000, "M": 10**6}
    factors |= {"G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "": 1}
    expected = number * factors[suffix]
    quantity = Quantity.parse(f"{number}{suffix}")
    if abs(expected) <= 2**63 - 1:
        assert quantity.exact == expected
    again = Quantity.parse(quantity.text)
    assert (again.text, again.exact) == (quantity.text, quantity.exact)


@pytest.mark.parametrize(("before", "repeated"), [("", "1"), ("1.", "1"), ("1", "e")])
def test_a_long_text_is_refused_in_time(before, repeated):
    def refuse(length):
        with pytest.raises(QuantityError):
            Quantity.parse(before + repeated * length + "!")

    assert_linear(refuse, 50_000)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (1, "1"), (1023, "1023"), (1024, "1Ki"), (3 << 29, "1536Mi"), (1 << 62, "4Ei")]
)
def test_bytes_are_written_in_the_largest_unit_that_keeps_them(number, text):
    assert written(number) == text
    assert Quantity.parse(text).whole == number
