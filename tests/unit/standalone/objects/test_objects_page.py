"""Continue tokens: they lead on, and cannot be made up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.status import ApiError
from ingot.standalone.objects.page import Token, decode

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", max_size=20)


@given(st.integers(1, 2**62), NAMES, NAMES)
def test_a_token_comes_back_as_it_was(revision: int, namespace: str, name: str) -> None:
    token = Token(revision, namespace, name)
    assert decode(token.encode()) == token


@given(st.text(max_size=60))
def test_a_made_up_token_is_a_bad_request(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        decode(text)
    assert refused.value.code == 400


def test_a_token_that_holds_no_json_is_told_as_go_tells_it() -> None:
    with pytest.raises(ApiError, match=r"invalid character .* looking for beginning of value"):
        decode("garbage")
