"""Arbitrary objects of a schema, as they come out of protobuf: without lists, maps and plain fields that are empty."""

import base64
from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st
from protobuf_encoder import CUSTOMS, META, PROPS

from ingot.api.object import Object, join_api_version
from ingot.standalone import times
from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf.envelope import schema_name

# Structures within structures are no deeper, and have no more fields.
DEPTH = 6
FIELDS = 4

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
_MOMENTS = st.datetimes(datetime(1000, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))
_PLAIN = st.dictionaries(_TEXT, st.integers(0, 9) | _TEXT | st.lists(st.booleans(), max_size=2), min_size=1, max_size=2)
_NUMBERS = st.floats(-1e6, 1e6).filter(bool).map(lambda value: int(value) if value.is_integer() else value)


def schema_names() -> set[str]:
    """The schemas of all kinds that a body may be of."""
    found = set()
    for name in schemas.names():
        for kind in schemas.resolved(name).get("x-kubernetes-group-version-kind", ()):
            found.add(schema_name(join_api_version(kind["group"], kind["version"]), kind["kind"]))
    return {name for name in found if name is not None}


@st.composite
def objects(draw: st.DrawFn, schema: Object, depth: int = 0) -> Object:
    """Objects of a structure's schema."""
    properties = schema.get("properties", {})
    leaves = [name for name, child in properties.items() if depth < DEPTH or _is_leaf(child)]
    if "x-kubernetes-group-version-kind" in schema:
        leaves = [name for name in leaves if name not in ("apiVersion", "kind")]
    if not leaves:
        return {}
    chosen = draw(st.lists(st.sampled_from(leaves), unique=True, max_size=FIELDS))
    return {name: draw(values(properties[name], depth + 1)) for name in chosen}


def _is_leaf(schema: Object) -> bool:
    return schema.get("type") in ("string", "boolean", "integer", "number")


def values(schema: Object, depth: int) -> st.SearchStrategy[Any]:
    name = schemas.name_of(schema)
    if name in _EITHER:
        props = objects(schemas.resolved(PROPS), depth)
        return props | _EITHER[name](props)
    if name in _SPECIAL:
        return _SPECIAL[name]
    match schema["type"], schema.get("format"):
        case "array", _:
            return st.lists(values(schema["items"], depth), min_size=1, max_size=2)
        case "object", _ if isinstance(schema.get("additionalProperties"), dict):
            return st.dictionaries(_TEXT, values(schema["additionalProperties"], depth), min_size=1, max_size=2)
        case "object", _:
            return objects(schema, depth)
        case "string", "byte":
            return st.binary(min_size=1, max_size=9).map(lambda value: base64.b64encode(value).decode())
        case "string", _:
            return _TEXT
        case "integer", form:
            bits = 31 if form == "int32" else 63
            return st.integers(-(2**bits), 2**bits - 1).filter(bool)
        case "number", _:
            return _NUMBERS
    return st.just(True)


_SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    schemas.QUANTITY: st.sampled_from(["0", "1500m", "2Gi", "-3", "1e3"]),
    schemas.INT_OR_STRING: st.integers(-(2**31), 2**31 - 1) | _TEXT,
    schemas.TIME: _MOMENTS.map(times.written),
    schemas.MICRO_TIME: _MOMENTS.map(lambda moment: times.written(moment, micro=True)),
    f"{META}.FieldsV1": _PLAIN,
    f"{CUSTOMS}.JSON": _PLAIN | st.booleans() | _TEXT,
}
_EITHER: dict[str, Any] = {
    f"{CUSTOMS}.JSONSchemaPropsOrArray": lambda props: st.lists(props, min_size=1, max_size=2),
    f"{CUSTOMS}.JSONSchemaPropsOrBool": lambda _: st.booleans(),
    f"{CUSTOMS}.JSONSchemaPropsOrStringArray": lambda _: st.lists(_TEXT, min_size=1, max_size=2),
}
