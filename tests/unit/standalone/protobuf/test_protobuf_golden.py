"""Bytes that kubectl 1.32 sent and kube-apiserver 1.32 answered, each beside its JSON form without nulls."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.protobuf import decode
from ingot.standalone.protobuf.envelope import MAGIC

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.hex"))


def raw_of(path: Path) -> bytes:
    return bytes.fromhex(path.read_text())


def test_there_are_golden_bodies() -> None:
    assert len(GOLDEN) >= 6


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_golden_body_is_its_json(path: Path) -> None:
    expected: Object = json.loads(path.with_suffix(".json").read_text())
    assert decode(raw_of(path)) == expected


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_a_body_that_ends_early_is_refused(path: Path) -> None:
    raw = raw_of(path)
    # After magic, tag and length comes the name of the kind; after the content, two empty fields.
    start, end = len(MAGIC) + 2 + raw[len(MAGIC) + 1], len(raw) - 4
    for length in range(start + 1, end, 1 + len(raw) // 200):
        with pytest.raises(ApiError, match="unexpected EOF") as refused:
            decode(raw[:length])
        assert refused.value.code == 400


@settings(max_examples=300)
@given(st.sampled_from(GOLDEN), st.data())
def test_a_damaged_body_is_an_object_or_a_bad_request(path: Path, data: st.DataObject) -> None:
    raw = bytearray(raw_of(path))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(decode(bytes(raw)), dict)
    except ApiError as refused:
        assert refused.code == 400  # noqa: PT017  # some damage leaves an object
