"""Traces: what is recorded is what is followed, and what nobody can have recorded is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.lazy.trace import Trace

LAYER = Digest.of(b"layer")


@given(st.lists(st.integers(0, 500), unique=True))
def test_a_trace_comes_back_as_it_was(numbers: list[int]) -> None:
    trace = Trace.decode(Trace.of(LAYER, numbers).encode(), "trace")
    assert trace.layer == str(LAYER)
    assert trace.numbers(501) == numbers


def test_runs_are_short() -> None:
    assert Trace.of(LAYER, [5, 6, 7, 1, 2, 9]).runs == [(5, 3), (1, 2), (9, 1)]


@given(st.lists(st.tuples(st.integers(-(1 << 62), 1 << 62), st.integers(-(1 << 62), 1 << 62))), st.integers(0, 50))
def test_whatever_it_says_no_chunk_comes_twice_or_is_none(runs: list[tuple[int, int]], count: int) -> None:
    numbers = Trace(str(LAYER), runs).numbers(count)
    assert len(numbers) == len(set(numbers))
    assert all(0 <= number < count for number in numbers)


def test_one_that_repeats_itself_is_not_read_for_ever() -> None:
    runs = [(0, 99_999)] * 1_000_000
    assert Trace(str(LAYER), runs).numbers(100_000) == list(range(99_999))


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"\xff", b'{"layer": 1, "runs": []}', b'{"layer": "", "runs": [[1]]}', b"[" * 100_000]
)
def test_what_is_no_trace_is_refused(data: bytes) -> None:
    with pytest.raises(ImageFault, match="its trace cannot be used"):
        Trace.decode(data, "trace")
