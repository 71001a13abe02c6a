"""From a schema and its field numbers to the message that reads it."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from ingot.api.object import Object
from ingot.standalone.builtin import schemas, shapes
from ingot.standalone.protobuf import numbers
from ingot.standalone.protobuf.messages import Field, Inline, Mapping, Message, Repeated, Single, Structure
from ingot.standalone.protobuf.types import SPECIAL, Type, of_scalar
from ingot.standalone.protobuf.wire import BYTES

_CUSTOMS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_PROPS = f"{_CUSTOMS}.JSONSchemaProps"

_messages: dict[str, Message] = {}


def message(name: str) -> Message:
    """The message that reads the schema of a name. Raises KeyError for one without numbers."""
    if name not in _messages:
        schema = schemas.resolved(name)
        # Entered before it is filled, for structures that contain themselves.
        made = _messages[name] = Message(_short(name))
        if "properties" in schema:
            made.fields = _fields(schema, name)
    return _messages[name]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _fields(schema: Object, table: str) -> dict[int, Field]:
    """The fields of a structure that are numbered in the message `table`: its own, or one that is inline in it."""
    owner = schemas.name_of(schema)
    kept = {*schema.get("required", ()), *shapes.values().get(owner, ())}
    kept.update(shapes.pointers().get(owner, ()), shapes.nulls().get(owner, ()))
    fields: dict[int, Field] = {}
    for field, number in numbers.of(table).items():
        if field.startswith(numbers.INLINE):
            part = Message(field.removeprefix(numbers.INLINE))
            part.fields = _fields(schema, f"{table.rpartition('.')[0]}.{part.name}")
            fields[number] = Inline(part)
        elif (child := schema["properties"].get(field)) is not None:
            fields[number] = _field(field, child, field in kept)
    return fields


def _field(name: str, schema: Object, keep: bool) -> Field:
    if schema.get("type") == "array":
        return Repeated(name, _type(schema["items"]))
    if isinstance(schema.get("additionalProperties"), dict):
        return Mapping(name, _type(schema["additionalProperties"]))
    full = schemas.name_of(schema)
    if full in SPECIAL or full in EITHER:
        # Those are empty only where that says something.
        return Single(name, _type(schema), True)
    if schema.get("type") == "object":
        return Structure(name, message(full))
    return Single(name, _type(schema), keep)


def _type(schema: Object) -> Type:
    """The type of a field's value, of a list's item or of a map's."""
    full = schemas.name_of(schema)
    if full in EITHER:
        return _either(full)
    if full not in SPECIAL:
        if schema.get("type") == "array":
            return _wrapped(_type(schema["items"]))
        if schema.get("type") == "object":
            return Type(BYTES, message(full).read)
    return of_scalar(schema)


def _wrapped(item: Type) -> Type:
    """A list within a map, which protobuf can only say as a message of its own."""
    holder = Message("ExtraValue")
    holder.fields = {1: Repeated("items", item)}
    return Type(BYTES, lambda data, depth: holder.read(data, depth).get("items", []))


@cache
def _either(name: str) -> Type:
    """A schema, or something else in its place: in JSON that thing itself, on the wire a message of both."""
    fields, choose = EITHER[name]
    holder = Message(_short(name))
    holder.fields = fields()
    return Type(BYTES, partial(_chosen, holder, choose))


def _chosen(holder: Message, choose: Callable[[Object], Any], data: memoryview, depth: int) -> Any:
    return choose(holder.read(data, depth))


def _schema_or_schemas() -> dict[int, Field]:
    props = message(_PROPS)
    return {1: Structure("schema", props), 2: Repeated("list", Type(BYTES, props.read))}


def _schema_or_strings() -> dict[int, Field]:
    return {1: Structure("schema", message(_PROPS)), 2: Repeated("list", of_scalar({"type": "string"}))}


def _bool_or_schema() -> dict[int, Field]:
    return {1: Single("allows", of_scalar({"type": "boolean"}), False), 2: Structure("schema", message(_PROPS))}


def _list_first(found: Object) -> Any:
    return found.get("list", found.get("schema"))


def _schema_first(found: Object) -> Any:
    return found.get("schema", "allows" in found)


EITHER: dict[str, tuple[Callable[[], dict[int, Field]], Callable[[Object], Any]]] = {
    f"{_CUSTOMS}.JSONSchemaPropsOrArray": (_schema_or_schemas, _list_first),
    f"{_CUSTOMS}.JSONSchemaPropsOrStringArray": (_schema_or_strings, _list_first),
    f"{_CUSTOMS}.JSONSchemaPropsOrBool": (_bool_or_schema, _schema_first),
}
