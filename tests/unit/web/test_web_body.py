"""What the headers of a request say of the bytes that it brings."""

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from ingot.web.body import BadBody, Part, part_of


def a_request(**headers: str) -> web.BaseRequest:
    return make_mocked_request("PUT", "/", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("headers", "part"),
    [
        ({"Content_Length": "9"}, Part(0, 9, True, True)),
        ({}, Part(0, 0, True, True)),
        ({"Content_Range": "bytes 3-8/9", "Content_Length": "6"}, Part(3, 9, True, False)),
        ({"Content_Range": "bytes 3-5/9", "Content_Length": "3"}, Part(3, 9, False, False)),
        ({"Content_Range": "bytes 0-8/9", "Content_Length": "9"}, Part(0, 9, True, True)),
        ({"Content_Range": "bytes 3-8/*"}, Part(3, 0, False, False)),
        ({"Content_Range": "bytes 9-8/9", "Content_Length": "0"}, Part(9, 9, True, False)),
        ({"Upload_Offset": "3", "Content_Length": "6"}, Part(3, 9, True, False)),
        ({"Upload_Offset": "3"}, Part(3, 0, True, False)),
        ({"Upload_Offset": "3", "Upload_Identity": "a"}, Part(3, 0, True, False, "a")),
        ({"Content_Range": "bytes 3-8/9", "Upload_Identity": "a"}, Part(3, 9, True, False, "a")),
        ({"Content_Length": "9", "Upload_Identity": "a"}, Part(0, 9, True, True, "a")),
    ],
)
def test_a_part_is_known_by_its_headers(headers: dict[str, str], part: Part) -> None:
    assert part_of(a_request(**headers), form=False) == part


@pytest.mark.parametrize("encoding", ["identity", "gzip", "GZip", "x-gzip", "zstd"])
def test_a_packed_file_is_as_long_as_it_is_sent(encoding: str) -> None:
    part = part_of(a_request(Content_Length="9", Content_Encoding=encoding), form=False)
    assert part == Part(0, 9, True, True)


@pytest.mark.parametrize(
    ("encoding", "form"), [("deflate", False), ("br", False), ("gzip, gzip", False), ("gzip", True), ("zstd", True)]
)
def test_an_encoding_that_no_import_unpacks_is_refused(encoding: str, form: bool) -> None:
    with pytest.raises(BadBody, match=f"Content-Encoding is '{encoding}'; it must be identity") as refused:
        part_of(a_request(Content_Encoding=encoding), form)
    assert refused.value.code == 415


def test_the_length_of_a_form_is_not_that_of_its_file() -> None:
    assert part_of(a_request(Content_Length="9"), form=True) == Part(0, 0, True, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Range": "bytes 5-3/9"},
        {"Content_Range": "bytes 5-4/9"},
        {"Content_Range": "bytes 3-9/9"},
        {"Content_Range": "bytes 3-8/9", "Content_Length": "5"},
        {"Content_Range": "items 3-8/9"},
        {"Content_Range": "bytes 3-99999999999999999999/9"},
        {"Upload_Offset": "-1"},
        {"Upload_Offset": "1e3"},
        {"Upload_Identity": "two words"},
        {"Upload_Identity": "ü"},
        {"Upload_Identity": "a" * 129},
    ],
)
def test_what_does_not_fit_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(BadBody):
        part_of(a_request(**headers), form=False)
