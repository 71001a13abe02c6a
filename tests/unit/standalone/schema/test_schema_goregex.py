import pytest

from growth import assert_linear
from ingot.standalone.schema.goregex import PatternError
from ingot.standalone.schema.patterns import pattern

TEXTS = ["", "a", "A", "b", "ab", "aab", "5", "a\n", "é", "foo", "a foo b", "x{", "-", ".", "abc", "\n", " ", "/x", "]"]


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("^a$", ["a"]),
        ("a", ["a", "ab", "aab", "a\n", "a foo b", "abc"]),
        (r"^\d+$", ["5"]),
        (r"\p{L}", ["a", "A", "b", "ab", "aab", "a\n", "é", "foo", "a foo b", "x{", "abc", "/x"]),
        (r"\pL\z", ["a", "A", "b", "ab", "aab", "é", "foo", "a foo b", "abc", "/x"]),
        ("(?i)^ABC$", ["abc"]),
        ("(?i)^[a]$", ["a", "A"]),
        ("(?i:A)b", ["ab", "aab", "abc"]),
        ("^(?i-s:A)$", ["a", "A"]),
        ("[[:alpha:]]{3}", ["aab", "foo", "a foo b", "abc"]),
        ("^[^[:alpha:]]$", ["5", "é", "-", ".", "\n", " ", "]"]),
        (r"\Aa", ["a", "ab", "aab", "a\n", "a foo b", "abc"]),
        (r"^a{2,3}", ["aab"]),
        (r"^(?P<n>a)(?<m>b)$", ["ab"]),
        (r"^\Qx{\E$", ["x{"]),
        (r"x{", ["x{"]),
        (r"\x{e9}|\x35", ["5", "é"]),
        (r"(?s)^.$", ["a", "A", "b", "5", "é", "-", ".", "\n", " ", "]"]),
        (r"^.$", ["a", "A", "b", "5", "é", "-", ".", " ", "]"]),
        (r"^[]a]$", ["a", "]"]),
        (r"^[^]a]$", ["A", "b", "5", "é", "-", ".", "\n", " "]),
        (r"^[a-]$", ["a", "-"]),
        (r"^[\d\-.]$", ["5", "-", "."]),
        (r"^[^\d\s]$", ["a", "A", "b", "é", "-", ".", "]"]),
        (r"^\S\D\W?$", ["ab", "a\n", "x{", "/x"]),
        (r"\bfoo\b", ["foo", "a foo b"]),
        (r"^\B.$", ["é", "-", ".", " ", "]"]),
        ("^a(?i){2}B$", ["aab"]),
        (r"(?m)^$", ["", "a\n", "\n"]),
        (r"^[à-ü]$", ["é"]),
        (r"^\/x", ["/x"]),
        ("(a|b|)c$", ["abc"]),
        (r"[^\x00-\x{10FFFF}]", []),
        (r"^[~&\\]$", []),
    ],
)
def test_an_expression_matches_what_go_matches(expression: str, matching: list[str]) -> None:
    assert [text for text in TEXTS if pattern(expression).matches(text)] == matching


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("(", "missing closing ): `(`"),
        (")", "unexpected ): `)`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?x)", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a+*", "invalid nested repetition operator: `+*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("x{2,1}", "invalid repeat count: `{2,1}`"),
        ("((a{1,100}){1,100}){1,100}", "invalid repeat count: `{1,100}`"),
        ("(?:xa{11}b){91,}?", "invalid repeat count: `{91,}?`"),
        ("(?:(?i:a{2})*|b){501}", "invalid repeat count: `{501}`"),
        ("[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Foo}", r"invalid character class range: `\p{Foo}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\8", r"invalid escape sequence: `\8`"),
        (r"\x4", r"invalid escape sequence: `\x4`"),
        (r"\h", r"invalid escape sequence: `\h`"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(expression: str, message: str) -> None:
    with pytest.raises(PatternError) as refused:
        pattern(expression)
    assert str(refused.value) == f"error parsing regexp: {message}"


@pytest.mark.parametrize(
    "expression",
    ["^(a+)+$", "(?m)^(a+)+$", "^([a-z]([-a-z0-9]*[a-z0-9])?)(\\.[a-z]([-a-z0-9]*[a-z0-9])?)*$"],
)
def test_no_search_takes_longer_than_the_text_is_long(expression: str) -> None:
    compiled = pattern(expression)

    def search(length: int) -> None:
        text = "a" * length + "!"
        assert not compiled.matches(text)
        assert list(compiled.find_all(text)) == []

    assert_linear(search, 25_000)


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        ("(?i)[a-c]+$", "xxABC", ["ABC"]),
        ("x*", "abxd", ["", "", "x", ""]),
        (r"\pL+", "né 5 ab", ["né", "ab"]),
        ("(?m)^a$", "a\nb\na", ["a", "a"]),
        ("a$", "a\n", []),
    ],
)
def test_a_search_gives_the_texts_that_match(expression: str, text: str, found: list[str]) -> None:
    assert list(pattern(expression).find_all(text)) == found


@pytest.mark.parametrize("expression", ["(a{1,31}){1,32}", "(a{10}|b{100}){10}", "a{1000}b{1000}", "((a{0}){1000}){1}"])
def test_repetitions_within_repetitions_count_together(expression: str) -> None:
    pattern(expression)


def test_nesting_has_an_end() -> None:
    with pytest.raises(PatternError, match="expression nests too deeply"):
        pattern("(" * 5000 + ")" * 5000)
