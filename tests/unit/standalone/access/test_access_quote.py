import pytest

from ingot.standalone.access.quote import quote, quote_all


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("pods", '"pods"'),
        ("system:serviceaccount:a:b", '"system:serviceaccount:a:b"'),
        ('a"b\\c', '"a\\"b\\\\c"'),
        ("tab\tline\n", '"tab\\tline\\n"'),
        ("\x00\x7f", '"\\x00\\x7f"'),
        ("grün", '"grün"'),
        ("\u200b", '"\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
)
def test_strings_are_quoted_as_go_does(text: str, quoted: str) -> None:
    assert quote(text) == quoted


def test_lists_of_strings_have_spaces_between() -> None:
    assert quote_all([]) == "[]"
    assert quote_all(["a", "b c"]) == '["a" "b c"]'
