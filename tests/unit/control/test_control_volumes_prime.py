"""What is said of objects that the server will not take."""

import pytest

from ingot.api.status import ApiError
from ingot.control.volumes.prime import not_made


@pytest.mark.parametrize("code", [400, 403, 405, 413, 422, 500, 502, 503])
def test_what_is_refused_is_told_and_tried_again(code: int) -> None:
    step = not_made('pod "ns/a"', ApiError(code, "", "no pods for you")).step
    assert step.reason == "FailedCreate"
    assert step.message == 'pod "ns/a" was refused: no pods for you; tried again in 10 s'
    assert step.again == 10.0


@pytest.mark.parametrize("code", [401, 404, 409, 429])
def test_what_passes_by_itself_is_not_told(code: int) -> None:
    with pytest.raises(ApiError):
        not_made("it", ApiError(code, "", "not now"))


def test_a_server_that_says_when_to_come_back_is_not_told_of() -> None:
    with pytest.raises(ApiError):
        not_made("it", ApiError(504, "Timeout", "not now", {"retryAfterSeconds": 1}))


def test_what_a_server_repeats_of_an_object_is_cut() -> None:
    """An annotation holds 256 KiB: with more, nothing at all would be told."""
    step = not_made("it", ApiError(422, "Invalid", f"Invalid value: {'$' * 1_000_000}")).step
    assert len(step.message) < 1100
    assert step.message.endswith("; tried again in 10 s")
