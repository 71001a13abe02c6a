"""Filling in templates, as OpenShift does (G7)."""

import re
import secrets
import string
from functools import reduce
from itertools import cycle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingot.api.template.expression import ExpressionError, generate
from ingot.api.template.process import MOST_FILLED, TemplateError, process


def template(objects=(), parameters=(), **fields):
    return {"metadata": {"name": "fedora"}, "objects": list(objects), "parameters": list(parameters), **fields}


def nested(levels):
    return reduce(lambda inner, _: [inner], range(levels), "x")


def filled(value, parameters, **values):
    """What becomes of a value in an object."""
    return process(template([{"spec": value}], parameters), values)["objects"][0]["spec"]


NAME = {"name": "NAME", "value": "web"}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("${NAME}", "web"),
        ("a-${NAME}-${NAME}-b", "a-web-web-b"),
        ("${OTHER} ${NAME}", "${OTHER} web"),
        ("$NAME ${} ${NA ME} {NAME}", "$NAME ${} ${NA ME} {NAME}"),
        ("a ${{NAME}} b", "a ${{NAME}} b"),
        ("${{OTHER}}", "${{OTHER}}"),
        (["${NAME}", {"${NAME}": {"x": "${NAME}"}}], ["web", {"web": {"x": "web"}}]),
        ({"a": 1, "b": None, "c": True, "d": 1.5}, {"a": 1, "b": None, "c": True, "d": 1.5}),
    ],
)
def test_references_in_text_and_keys_are_filled_in(text, becomes):
    assert filled(text, [NAME]) == becomes


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        ("3", 3),
        ("true", True),
        ("1.5", 1.5),
        ('{"a": [1, null]}', {"a": [1, None]}),
        ('"3"', "3"),
        ("word", "word"),
        ("NaN", "NaN"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_double_braces_give_the_value_itself(value, becomes):
    assert filled("${{SIZE}}", [{"name": "SIZE"}], SIZE=value) == becomes


def test_a_value_that_looks_like_a_reference_is_none():
    parameters = [{"name": "A", "value": "${B}"}, {"name": "B", "value": "b"}]
    assert filled("${A}-${B}", parameters) == "${B}-b"


def test_a_given_value_counts_before_the_templates_own_and_before_a_made_one():
    made = {"name": "MADE", "generate": "expression", "from": "[0-9]{3}"}
    assert filled("${NAME} ${MADE}", [NAME, made], NAME="db", MADE="x") == "db x"
    assert re.fullmatch("web [0-9]{3}", filled("${NAME} ${MADE}", [NAME, made]))
    assert filled("<${NAME}${MADE}>", [NAME, made], NAME="", MADE="") == "<>"


def test_values_are_told_with_the_parameters():
    made = process(template(parameters=[{"name": "P", "generate": "expression", "from": "[a]{3}"}, {"name": "Q"}]))
    assert made["parameters"][0]["value"] == "aaa"
    assert "value" not in made["parameters"][1]


def test_a_template_is_not_altered():
    asked = template([{"metadata": {"name": "${NAME}", "namespace": "x"}}], [NAME], labels={"a": "${NAME}"})
    before = repr(asked)
    process(asked)
    assert repr(asked) == before


def test_labels_go_to_every_object_and_the_message_is_filled_in():
    objects = [{"kind": "A", "metadata": {"labels": {"app": "own", "x": "y"}}}, {"kind": "B"}]
    made = process(template(objects, [NAME], labels={"app": "${NAME}"}, message="${NAME} is there"))
    assert made["objects"][0]["metadata"]["labels"] == {"app": "web", "x": "y"}
    assert made["objects"][1]["metadata"]["labels"] == {"app": "web"}
    assert made["message"] == "web is there"


def test_a_namespace_stays_only_if_it_is_a_parameters():
    objects = [{"metadata": {"namespace": "fixed"}}, {"metadata": {"namespace": "${NAME}"}}]
    assert [each["metadata"] for each in process(template(objects, [NAME]))["objects"]] == [{}, {"namespace": "web"}]


@pytest.mark.parametrize(
    ("parameters", "values", "field", "why"),
    [
        (
            [{"name": "NAME", "required": True}],
            {},
            "parameters[0].value",
            'template "fedora": parameter "NAME" is required: give it as NAME=VALUE',
        ),
        ([{"name": "NAME", "required": True, "value": "x"}], {"NAME": ""}, "parameters[0].value", '"NAME" is required'),
        ([NAME], {"NMAE": "x"}, "parameters", 'there is no parameter "NMAE"; it has NAME'),
        ([], {"X": "x"}, "parameters", 'there is no parameter "X"; it has none'),
        (
            [NAME, {"name": "PW", "generate": "expression", "from": "[z-a]{3}"}],
            {},
            "parameters[1].from",
            'parameter "PW": no value can be made of from: [z-a] has the range z-a, which runs backwards',
        ),
    ],
)
def test_what_cannot_be_filled_in_names_template_and_parameter(parameters, values, field, why):
    with pytest.raises(TemplateError, match=re.escape(why)) as told:
        process(template(parameters=parameters), values)
    assert (told.value.name, told.value.faults[0].field) == ("fedora", field)


def test_all_faults_are_told_at_once():
    parameters = [{"name": "A", "required": True}, {"name": "B", "required": True}]
    with pytest.raises(TemplateError, match=r'"A" is required.*"B" is required'):
        process({"objects": [], "parameters": parameters})


def test_a_long_value_is_not_multiplied_without_end():
    objects = [{"spec": ["${NAME}"] * 1000}]
    with pytest.raises(TemplateError, match=f"more than {MOST_FILLED} characters"):
        process(template(objects, [NAME]), {"NAME": "x" * 100_000})


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ("x", "objects[1].metadata"),
        (["x"], "objects[1].metadata"),
        ("${{A}}", "objects[1].metadata"),
        ({"labels": "x"}, "objects[1].metadata.labels"),
        ({"labels": ["x"]}, "objects[1].metadata.labels"),
        ({"labels": "${{A}}"}, "objects[1].metadata.labels"),
    ],
)
@pytest.mark.parametrize("labels", [{}, {"app": "web"}])
def test_what_no_label_can_go_to_is_refused_by_field(metadata, field, labels):
    asked = template([{}, {"metadata": metadata}], [{"name": "A", "value": "5"}], labels=labels)
    with pytest.raises(TemplateError, match=re.escape(f"{field}: keys with values are expected")) as told:
        process(asked)
    assert told.value.faults[0].field == field


@pytest.mark.parametrize(("spec", "value"), [(nested(600), "1"), ("${{A}}", '{"a": ' * 200 + "1" + "}" * 200)])
def test_what_is_nested_without_end_is_refused(spec, value):
    with pytest.raises(TemplateError, match=re.escape("objects[0]: objects and lists are nested more than")):
        process(template([{"spec": spec}], [{"name": "A"}]), {"A": value})
    assert filled(nested(99), []) == nested(99)


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        ("test[0-9]{1}x", "test[0-9]x"),
        ("0x[A-F0-9]{4}", "0x[A-F0-9]{4}"),
        ("[a-zA-Z0-9]{8}", "[a-zA-Z0-9]{8}"),
        ("[abc]{20}", "[abc]{20}"),
        (r"[\w]{40}", "[a-zA-Z0-9_]{40}"),
        (r"[\d]{40}", "[0-9]{40}"),
        (r"[\a]{40}", "[a-zA-Z]{40}"),
        (r"[\A]{40}", f"[{re.escape(string.punctuation)}]{{40}}"),
        ("[a-z0-9]{4}-[a-z0-9]{4}", "[a-z0-9]{4}-[a-z0-9]{4}"),
        ("[A-z]{255}", "[A-Za-z]{255}"),
        ("fixed", "fixed"),
        ("[a-z]", r"\[a-z\]"),
    ],
)
def test_expressions(expression, form):
    assert re.fullmatch(form, generate(expression, secrets.choice))


def test_the_same_choices_give_the_same_value():
    turn = cycle(range(100))
    assert generate("[a-c]{5}", lambda letters: letters[next(turn) % len(letters)]) == "abcab"


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[a-z]{0}", "asks for 0 characters; 1 to 255 can be made"),
        ("[a-z]{256}", "asks for 256 characters"),
        ("[a-z]{99999999999999999999}", "asks for 99999999999999999999 characters"),
        (r"[\q]{3}", r"[\q] is no class of characters"),
        ("[-a]{3}", "[-a] is no class of characters"),
    ],
)
def test_expressions_that_cannot_be_read(expression, why):
    with pytest.raises(ExpressionError, match=re.escape(why)):
        generate(expression, lambda letters: letters[0])


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_what_has_no_references_stays_as_it_is(value):
    assert filled(value, []) == value
