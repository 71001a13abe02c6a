"""A tiny encoder of Kubernetes' protobuf, the other way round from what the server does."""

import base64
import json
import struct
from datetime import UTC, datetime
from typing import Any

from ingot.api.object import Object
from ingot.standalone.builtin import schemas
from ingot.standalone.protobuf import numbers
from ingot.standalone.protobuf.envelope import MAGIC

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
CUSTOMS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
PROPS = f"{CUSTOMS}.JSONSchemaProps"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def number(field: int, value: int) -> bytes:
    """A record that holds a number."""
    return varint(field << 3) + varint(value)


def block(field: int, content: bytes) -> bytes:
    """A record that holds bytes: a string or a message."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def envelope(api_version: str, kind: str, content: bytes) -> bytes:
    meta = block(1, api_version.encode()) + block(2, kind.encode())
    return MAGIC + block(1, meta) + block(2, content) + block(3, b"") + block(4, b"")


def body(name: str, obj: Object) -> bytes:
    """An object of the schema of a name, as a client sends it."""
    return envelope(obj["apiVersion"], obj["kind"], message(name, name, obj))


def message(name: str, table: str, obj: Object) -> bytes:
    """The fields of an object that are in the message `table`: the schema's own, or one that is inline in it."""
    made = b""
    properties = schemas.resolved(name).get("properties", {})
    for field, at in numbers.of(table).items() if properties else ():
        if field.startswith(numbers.INLINE):
            made += block(at, message(name, f"{table.rpartition('.')[0]}.{field[1:]}", obj))
        elif field in obj:
            made += _field(at, properties[field], obj[field])
    return made


def _field(at: int, schema: Object, value: Any) -> bytes:
    if schema.get("type") == "array":
        return b"".join(_single(at, schema["items"], item) for item in value)
    items = schema.get("additionalProperties")
    if isinstance(items, dict):
        entries = (block(1, key.encode()) + _single(2, items, item) for key, item in value.items())
        return b"".join(block(at, entry) for entry in entries)
    return _single(at, schema, value)


def _single(at: int, schema: Object, value: Any) -> bytes:
    name = schemas.name_of(schema)
    if name in _SPECIAL:
        return block(at, _SPECIAL[name](value))
    match schema["type"], schema.get("format"):
        case "array", _:
            return block(at, _field(1, schema, value))
        case "object", _:
            return block(at, message(name, name, value))
        case "string", "byte":
            return block(at, base64.b64decode(value))
        case "string", _:
            return block(at, value.encode())
        case "number", _:
            return varint(at << 3 | 1) + struct.pack("<d", value)
    return number(at, int(value))


def _int_or_string(value: int | str) -> bytes:
    if isinstance(value, str):
        return number(1, 1) + number(2, 0) + block(3, value.encode())
    return number(1, 0) + number(2, value) + block(3, b"")


def _time(value: str) -> bytes:
    since = datetime.fromisoformat(value) - datetime(1970, 1, 1, tzinfo=UTC)
    return number(1, since.days * 86400 + since.seconds) + number(2, since.microseconds * 1000)


def _json(value: Any) -> bytes:
    return block(1, json.dumps(value).encode())


def _props(value: Object) -> bytes:
    return message(PROPS, PROPS, value)


def _or_array(value: Object | list[Object]) -> bytes:
    if isinstance(value, list):
        return b"".join(block(2, _props(item)) for item in value)
    return block(1, _props(value))


def _or_bool(value: Object | bool) -> bytes:
    return number(1, value) if isinstance(value, bool) else number(1, 1) + block(2, _props(value))


def _or_strings(value: Object | list[str]) -> bytes:
    if isinstance(value, list):
        return b"".join(block(2, item.encode()) for item in value)
    return block(1, _props(value))


_SPECIAL: dict[str, Any] = {
    schemas.QUANTITY: lambda value: block(1, value.encode()),
    schemas.INT_OR_STRING: _int_or_string,
    schemas.TIME: _time,
    schemas.MICRO_TIME: _time,
    f"{META}.FieldsV1": _json,
    f"{CUSTOMS}.JSON": _json,
    f"{CUSTOMS}.JSONSchemaPropsOrArray": _or_array,
    f"{CUSTOMS}.JSONSchemaPropsOrBool": _or_bool,
    f"{CUSTOMS}.JSONSchemaPropsOrStringArray": _or_strings,
}
