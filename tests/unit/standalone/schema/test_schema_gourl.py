import pytest

from ingot.standalone.schema.gourl import URLError, parse_request_uri


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("https://example.com:80/a b/?k=v", ("https", "example.com:80", "example.com", "80", "/a%20b/")),
        ("https://[::1]:80/", ("https", "[::1]:80", "::1", "80", "/")),
        ("https://[::1]/", ("https", "[::1]", "::1", "", "/")),
        ("https://example.com", ("https", "example.com", "example.com", "", "")),
        ("/path", ("", "", "", "", "/path")),
        ("HTTP://x/", ("http", "x", "x", "", "/")),
        ("mailto:x", ("mailto", "", "", "", "")),
        ("*", ("", "", "", "", "*")),
    ],
)
def test_a_url_has_the_parts_that_go_finds(text: str, parts: tuple[str, ...]) -> None:
    url = parse_request_uri(text)
    assert (url.scheme, url.host, url.hostname, url.port, url.escaped_path) == parts


def test_users_and_fragments_belong_to_no_part() -> None:
    url = parse_request_uri("https://u:p@example.com:80/path?q=1#frag")
    assert (url.host, url.path, url.query) == ("example.com:80", "/path", "q=1")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", 'parse "": empty url'),
        ("x", 'parse "x": invalid URI for request'),
        ("../x", 'parse "../x": invalid URI for request'),
        (":x", 'parse ":x": missing protocol scheme'),
        ("http://a:b/", 'parse "http://a:b/": invalid port ":b" after host'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("http://[::1/", "parse \"http://[::1/\": missing ']' in host"),
        ("http://a/%zz", 'parse "http://a/%zz": invalid URL escape "%zz"'),
        ("http://%/", 'parse "http://%/": invalid URL escape "%"'),
        ("http://a\n/", 'parse "http://a\\n/": net/url: invalid control character in URL'),
        ("http://us er@a/", 'parse "http://us er@a/": net/url: invalid userinfo'),
    ],
)
def test_what_is_no_url_is_refused_in_gos_words(text: str, fault: str) -> None:
    with pytest.raises(URLError) as refused:
        parse_request_uri(text)
    assert str(refused.value) == fault
