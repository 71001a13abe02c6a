"""The address of uploads as clients are told it."""

import pytest

from ingot.web.address import url_of


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("127.0.0.1:8443", "https://127.0.0.1:8443"),
        ("[::1]:8443", "https://[::1]:8443"),
        ("uploads.example:443", "uploads.example"),
        ("[::1]:443", "[::1]"),
    ],
)
def test_clients_that_parse_it_and_those_that_put_https_before_it_can_read_it(place: str, told: str) -> None:
    assert url_of(place) == told
