"""Python types as structural schemas."""

import re
from typing import Annotated, Any, Literal

import msgspec
import pytest

from ingot.api.machinery import UNSET, Embedded, Field, Int32, Opt, Quantity, Raw, Rule, Shape, Time
from ingot.api.machinery.schema import schema_of


class Leaf(Shape):
    """A leaf."""

    size: Annotated[Opt[Quantity], Field("How large.")] = UNSET


class Node(Shape):
    """A node
    on two lines."""

    RULES = (Rule("has(self.leaf)", "a leaf is needed", ".leaf", "FieldValueRequired"),)

    name: Annotated[str, Field("Its name.", pattern="^a", max_length=9)]
    leaf: Opt[Leaf] = UNSET
    described: Annotated[Opt[Leaf], Field("Another leaf.")] = UNSET
    color: Literal["red", "blue"] = "red"
    dotted: Opt[bool] = msgspec.field(name="downwardAPI", default=UNSET)


class Loop(Shape):
    """It holds itself."""

    inner: "Opt[list[Loop]]" = UNSET


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (bool, {"type": "boolean"}),
        (int, {"type": "integer", "format": "int64"}),
        (Int32, {"type": "integer", "format": "int32"}),
        (float, {"type": "number", "format": "double"}),
        (Time, {"type": "string", "format": "date-time"}),
        (Opt[str | None], {"type": "string", "nullable": True}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (Any, {"x-kubernetes-preserve-unknown-fields": True}),
        (Opt[Raw], {"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        (
            Embedded,
            {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "x-kubernetes-embedded-resource": True,
            },
        ),
        (
            Opt[int | str],
            {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True},
        ),
        (
            Annotated[list[Annotated[str, Field(min_length=1)]], Field(list_type="set", max_items=3)],
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "x-kubernetes-list-type": "set",
                "maxItems": 3,
            },
        ),
    ],
)
def test_scalars_and_collections(hint, schema):
    assert schema_of(hint) == schema


def test_a_shape():
    schema = schema_of(Node)
    assert schema["description"] == "A node on two lines."
    assert schema["required"] == ["name"]
    assert schema["properties"]["name"] == {
        "type": "string",
        "description": "Its name.",
        "pattern": "^a",
        "maxLength": 9,
    }
    assert schema["properties"]["color"] == {"type": "string", "enum": ["red", "blue"], "default": "red"}
    assert schema["properties"]["downwardAPI"] == {"type": "boolean"}
    assert schema["x-kubernetes-validations"] == [
        {"rule": "has(self.leaf)", "message": "a leaf is needed", "fieldPath": ".leaf", "reason": "FieldValueRequired"}
    ]


def test_a_field_describes_better_than_its_type():
    properties = schema_of(Node)["properties"]
    assert properties["leaf"]["description"] == "A leaf."
    assert properties["described"]["description"] == "Another leaf."


def test_the_outer_annotation_wins():
    outer = Annotated[Annotated[str, Field("In.", pattern="^i", max_length=3)], Field("Out.", max_length=5)]
    assert schema_of(outer) == {"type": "string", "description": "Out.", "pattern": "^i", "maxLength": 5}


def test_a_limit_of_zero_is_a_limit():
    nested = Annotated[Opt[Int32], Field("Some.", minimum=0)]
    assert schema_of(nested) == {"type": "integer", "format": "int32", "description": "Some.", "minimum": 0}


def test_a_quantity_is_a_number_or_text():
    size = schema_of(Leaf)["properties"]["size"]
    assert size["x-kubernetes-int-or-string"] is True
    assert size["description"] == "How large."


@pytest.mark.parametrize("text", ["1", "-1", "1.5Gi", ".5", "10M", "1e3", "1E6", "5E", "100m", "+2k"])
def test_quantities(text):
    assert _quantity(text)


@pytest.mark.parametrize("text", ["", "1GB", "Gi", "1 Gi", "1e", "0x10", "1.5.2"])
def test_not_quantities(text):
    assert not _quantity(text)


def _quantity(text):
    return re.search(schema_of(Quantity)["pattern"], text)


@pytest.mark.parametrize("hint", [Loop, set[str], dict[int, str], str | bool])
def test_what_a_structural_schema_cannot_say(hint):
    with pytest.raises(TypeError):
        schema_of(hint)


def test_reading_and_writing():
    node = Node.from_object({"name": "a", "leaf": {"size": 3}, "unknown": 1})
    assert (node.name, node.leaf, node.color) == ("a", Leaf(size=3), "red")
    assert node.to_object() == {"name": "a", "leaf": {"size": 3}}


def test_reading_tells_where_a_type_does_not_fit():
    with pytest.raises(msgspec.ValidationError, match=r"\$\.leaf\.size"):
        Node.from_object({"name": "a", "leaf": {"size": []}})
