from contextlib import suppress

import pytest

from growth import assert_linear
from ingot.standalone.schema.cel.faults import CelError, CompileError, CostExceeded, ProgramError
from ingot.standalone.schema.cel.lexer import tokens
from ingot.standalone.schema.cel.program import Program
from ingot.standalone.schema.cel.types import DYN, INT, list_of, map_of, optional_of
from ingot.standalone.schema.cel.values import NONE, Optional, UInt

VARIABLES = {"x": INT, "any": DYN, "nums": list_of(INT), "maybe": optional_of(INT), "none": optional_of(INT)}
VALUES = {"x": 3, "any": "text", "nums": [1, 2, 3], "maybe": Optional(3), "none": NONE}
BUDGET = 1000


def value(source: str) -> object:
    return Program(source, VARIABLES).run(VALUES, BUDGET)[0]


@pytest.mark.parametrize(
    "source",
    [
        "1 + 2 * 3 == 7 && 7 % 4 == 3 && -7 / 2 == -3 && -7 % 4 == -3",
        "2.5 / 0.0 > 1e300 && dyn(1) == 1.0 && dyn(1u) == 1 && 1 < 1.5 && dyn(1) != true",
        "'a' + 'b' == 'ab' && b'a' + b'b' == b'ab' && [1] + [2] == [1, 2]",
        "'é日'.size() == 2 && size(b'é') == 2 && size({'a': 1}) == 1",
        "x > 2 ? true : 1 / 0 == 1",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "!(false && 1 / 0 == 1) && !(1 / 0 == 1 && false)",
        "nums.exists(v, 1 / (v - 1) == 1)",
        "!nums.all(v, 1 / (v - 1) > 1)",
        "nums.map(v, v * 2) == [2, 4, 6] && nums.map(v, v > 1, v * 2) == [4, 6]",
        "nums.filter(v, v != 2) == [1, 3] && nums.exists_one(v, v == 2)",
        "{'a': 1, 'b': 2}.all(k, k < 'c') && {'a': 1}.exists(k, {'a': 1}[k] == 1)",
        "'a' in {'a': 1} && !('b' in {'a': 1}) && 2 in nums",
        "nums.map(x, nums.map(y, x * y)) == [[1, 2, 3], [2, 4, 6], [3, 6, 9]] && x == 3",
        "{'a': {'b': 1}}.a.b == 1 && has({'a': 1}.a) && !has({'a': 1}.b)",
        "{'a': 1}.?a.hasValue() && !{'a': 1}.?b.hasValue() && {'a': {'b': 2}}.?a.b.orValue(0) == 2",
        "nums[?0].orValue(9) == 1 && nums[?7].orValue(9) == 9",
        "maybe.value() == 3 && maybe.or(none) == maybe && none.or(maybe) == maybe && none == none",
        "maybe.optMap(v, v + 1).value() == 4 && !none.optMap(v, v + 1).hasValue()",
        "maybe.optFlatMap(v, optional.of(v + 1)).value() == 4",
        "[?none, ?maybe, 1] == [3, 1] && {?'a': none, ?'b': maybe} == {'b': 3}",
        "!optional.ofNonZeroValue(0).hasValue() && optional.ofNonZeroValue('a').hasValue()",
        "type(1) == int && type('a') == string && type([1]) == list && type({}) == map && type(int) == type",
        "int('5') == 5 && int(2.9) == 2 && uint(3) == 3u && double('1.5') == 1.5 && string(1.5) == '1.5'",
        "bool('true') && string(b'a') == 'a' && bytes('a') == b'a' && string(true) == 'true'",
        "duration('1h') + duration('30m') == duration('90m') && string(duration('90m')) == '5400s'",
        "timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')",
        "timestamp('2020-03-01T12:30:45.678Z').getMonth() == 2",
        "timestamp('2020-03-01T12:30:45.678Z').getHours('+02:00') == 14",
        "timestamp('2020-03-01T12:30:45.678Z').getMilliseconds() == 678",
        "timestamp('2020-03-01T00:00:00Z').getDayOfWeek() == 0 && timestamp('2020-03-01T00:00:00Z').getDate() == 1",
        "string(timestamp('2020-03-01T12:30:45.5+01:00')) == '2020-03-01T11:30:45.5Z'",
        "int(timestamp('1970-01-01T00:01:00Z')) == 60 && duration('90s').getMinutes() == 1",
        "'abc'.substring(1) == 'bc' && 'abc'.substring(0, 2) == 'ab' && 'abc'.charAt(3) == ''",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "['a', 'b'].join('-') == 'a-b' && 'aXbX'.replace('X', '-') == 'a-b-' && 'aXbX'.replace('X', '', 1) == 'abX'",
        "'Hé'.lowerAscii() == 'hé' && 'hé'.upperAscii() == 'Hé' && ' a\\t'.trim() == 'a'",
        "'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3 && 'hello'.indexOf('l', 3) == 3",
        "'%s has %d of %.2f, %x %b %o %%'.format(['a', 3, 2.5, 255, 5, 8]) == 'a has 3 of 2.50, ff 101 10 %'",
        "'%s'.format([[1, 'a', {'k': 2.0}]]) == '[1, \"a\", {\"k\":2.000000}]'",
        "strings.quote('a\\nb') == '\"a\\\\nb\"' && r'\\d' == '\\\\d' && '''a'b''' == \"a'b\"",
        "'abc 123 45'.find('[0-9]+') == '123' && 'abc 123 45'.findAll('[0-9]+') == ['123', '45']",
        "'abc'.matches('^a.c$') && !'abc'.matches('b$')",
        "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [3, 1].max() == 3",
        "[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && ['a'].indexOf('z') == -1",
        "sets.contains([1, 2], [2]) && sets.intersects([1], [1, 2]) && sets.equivalent([1, 1, 2], [2, 1])",
        "url('https://a.b:8443/c%20d?x=1&x=2').getPort() == '8443' && !isURL('../x')",
        "url('https://a.b/c?x=1&x=2').getQuery() == {'x': ['1', '2']}",
        "quantity('1.5Gi').isLessThan(quantity('2Gi')) && quantity('1k').add(20).compareTo(quantity('1020')) == 0",
        "quantity('1Gi').asInteger() == 1073741824 && !quantity('1.5').isInteger() && sign(quantity('-1')) == -1",
        "ip('192.168.0.1').family() == 4 && ip('::1').isLoopback() && !isIP('1.2.3') && ip.isCanonical('::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.1/8').masked() == cidr('10.0.0.0/8')",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.0.0.0/8').prefixLength() == 8",
        "string(cidr('10.0.0.1/8').ip()) == '10.0.0.1' && ip('224.0.0.1').isLinkLocalMulticast()",
        "format.dns1123Label().validate('A').hasValue() && !format.named('nope').hasValue()",
        "format.named('uuid').value().validate('x').value() == ['does not match the UUID format']",
        "dyn(1) == 1 && any == 'text' && any.startsWith('t')",
        "0x1F == 31 && 1e3 == 1000.0 && .5 == 0.5 && -9223372036854775808 < 0",
        "'\\u00e9\\x41\\101\\t' == 'éAA\t' && b'\\xff' != b'\\xfe'",
        "(1 < 2) == true // a comment",
    ],
)
def test_an_expression_is_true(source: str) -> None:
    assert value(source) is True


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + x > 0", "integer overflow"),
        ("-9223372036854775807 - x > 0", "integer overflow"),
        ("1u - 2u > 0u", "unsigned integer overflow"),
        ("nums[3] == 1", "index out of bounds: 3"),
        ("{'a': 1}['b'] == 1", "no such key: b"),
        ("{'a': 1}.b == 1", "no such key: b"),
        ("none.value() == 1", "optional.none() dereference"),
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("int(1e19) == 1", "integer overflow"),
        ("uint(-1) == 1u", "unsigned integer overflow"),
        ("any > 5", "no such overload"),
        ("any.size() == 4 && any + 1 == 2", "no such overload"),
        ("nums.filter(v, v > 9).min() == 1", "min called on empty list"),
        ("'abc'.charAt(4) == ''", "index out of range: 4"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
        ("'%d'.format(['a']) == ''", "error during formatting: decimal clause can only be used on integers"),
        ("'%s %s'.format(['a']) == ''", "index 1 out of range"),
        ("quantity('1x') == quantity('1')", "quantities must match the regular expression"),
        ("url('x') == url('/')", 'URL parse error during conversion from string: parse "x": invalid URI for request'),
        (
            "timestamp('9999-12-31T23:59:59Z') + duration('1h') > timestamp('2020-01-01T00:00:00Z')",
            "timestamp overflow",
        ),
    ],
)
def test_a_fault_is_told_in_gos_words(source: str, fault: str) -> None:
    with pytest.raises(CelError) as told:
        value(source)
    assert str(told.value).startswith(fault)


def test_faults_are_shown_with_line_and_mark() -> None:
    with pytest.raises(CompileError) as told:
        Program("x > 1 &&\n  'é' + x == 2", VARIABLES)
    assert str(told.value) == (
        "ERROR: <input>:2:7: found no matching overload for '_+_' applied to '(string, int)'\n"
        " |   'é' + x == 2\n"
        " | ...\uff0e..^"
    )


def test_every_fault_of_an_expression_is_told() -> None:
    with pytest.raises(CompileError) as told:
        Program("foo == 1 && x.bar == 2 && x + 'a' == 3", VARIABLES)
    assert [issue.message.split(" ")[0] for issue in told.value.issues] == ["undeclared", "type", "found"]


def test_an_expression_that_can_never_run_is_no_program() -> None:
    with pytest.raises(ProgramError, match="missing closing"):
        Program("'a'.find('(') == ''", VARIABLES)


@pytest.mark.parametrize(
    "source",
    ["x" + ".a" * 5000, "(" * 3000 + "1" + ")" * 3000, "[" * 3000, "1" + " + 1" * 5000, "x" * 200_000],
    ids=["members", "brackets", "lists", "sums", "length"],
)
def test_an_endless_expression_is_refused(source: str) -> None:
    with pytest.raises(CompileError, match="limit"):
        Program(source, VARIABLES)


@pytest.mark.parametrize(
    "source",
    [
        "numbers.all(a, numbers.all(b, a + b >= 0))",
        "numbers.all(a, a in numbers)",
        "numbers.map(a, numbers) == numbers.map(a, numbers)",
        "numbers.exists(a, texts.join('').matches('^b'))",
    ],
)
def test_work_is_bounded(source: str) -> None:
    values = {"numbers": list(range(3000)), "texts": ["a" * 100] * 1000}
    program = Program(source, {"numbers": list_of(INT), "texts": list_of(DYN)})
    with pytest.raises(CostExceeded):
        program.run(values, 100_000)


def test_what_is_left_of_the_budget_is_told() -> None:
    program = Program("nums.all(v, v > 0)", VARIABLES)
    result, left = program.run(VALUES, BUDGET)
    assert result is True
    assert 0 < left < BUDGET


def test_loop_variables_hide_outer_ones_and_leave_them_alone() -> None:
    assert value("nums.map(x, x) == [1, 2, 3] && x == 3 && nums.exists(x, nums.all(x, x > 0) && x == 2)") is True


def test_values_have_the_types_of_cel() -> None:
    assert isinstance(value("1u + 2u"), UInt)
    assert value("{'a': 1}.map(k, k)") == ["a"]
    assert Program("m['a']", {"m": map_of(DYN, INT)}).type == INT


@pytest.mark.parametrize(
    ("before", "repeated", "after"),
    [("self == '''", "\\\\", ""), ("self == b'", "\\x41", "'"), ("self == ", "9", "")],
)
def test_a_long_rule_is_read_in_time(before: str, repeated: str, after: str) -> None:
    def read(length: int) -> None:
        with suppress(CompileError):
            tokens(before + repeated * length + after)

    assert_linear(read, 20_000)
