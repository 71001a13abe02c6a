"""OpenAPI v2 as the protobuf message `openapi.v2.Document`: Go's clients ask for nothing else.

Of each message the fields are written that clients of Kubernetes read.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from ingot.api.object import Object

MEDIA = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_METHODS = {"get": 2, "put": 3, "post": 4, "delete": 5, "options": 6, "head": 7, "patch": 8}
# By where a parameter is: its place in NonBodyParameter, and the number of its type there.
_PLACES = {"query": (3, 6), "path": (4, 5)}
_SCHEMA_EXTENSION, _OPERATION_EXTENSION = 31, 13

Write = Callable[[Any], bytes]


def document(swagger: Object) -> bytes:
    """The message of a document."""
    info = swagger["info"]
    return (
        _text(1, swagger["swagger"])
        + _bytes(2, _text(1, info["title"]) + _text(2, info["version"]))
        + _bytes(8, _named(2, swagger["paths"], _path_item))
        + _bytes(9, _named(1, swagger["definitions"], _schema))
    )


def _schema(schema: Object) -> bytes:
    made = _text(1, schema.get("$ref", "")) + _text(2, schema.get("format", ""))
    made += _text(4, schema.get("description", "")) + _texts(19, schema.get("required", ()))
    made += b"".join(_bytes(20, _any(value)) for value in schema.get("enum", ()))
    more = schema.get("additionalProperties")
    if isinstance(more, bool):
        made += _bytes(21, _flag(2, more))
    elif more is not None:
        made += _bytes(21, _bytes(1, _schema(more)))
    if "type" in schema:
        made += _bytes(22, _text(1, schema["type"]))
    if "items" in schema:
        made += _bytes(23, _bytes(1, _schema(schema["items"])))
    if "properties" in schema:
        made += _bytes(25, _named(1, schema["properties"], _schema))
    return made + _extensions(_SCHEMA_EXTENSION, schema)


def _path_item(item: Object) -> bytes:
    made = b"".join(_bytes(_METHODS[key], _operation(item[key])) for key in _METHODS if key in item)
    return made + _parameters(9, item.get("parameters", ()))


def _operation(operation: Object) -> bytes:
    return (
        _texts(1, operation.get("tags", ()))
        + _text(3, operation.get("description", ""))
        + _text(5, operation["operationId"])
        + _texts(6, operation.get("produces", ()))
        + _texts(7, operation.get("consumes", ()))
        + _parameters(8, operation["parameters"])
        + _bytes(9, _named(1, operation["responses"], _response))
        + _extensions(_OPERATION_EXTENSION, operation)
    )


def _parameters(number: int, parameters: Iterable[Object]) -> bytes:
    return b"".join(_bytes(number, _bytes(1, _parameter(each))) for each in parameters)


def _parameter(parameter: Object) -> bytes:
    required = parameter.get("required", False)
    if parameter["in"] == "body":
        body = _text(2, parameter["name"]) + _text(3, "body") + _flag(4, required)
        return _bytes(1, body + _bytes(5, _schema(parameter["schema"])))
    place, kind = _PLACES[parameter["in"]]
    made = _flag(1, required) + _text(2, parameter["in"]) + _text(3, parameter.get("description", ""))
    made += _text(4, parameter["name"]) + _text(kind, parameter["type"])
    return _bytes(2, _bytes(place, made))


def _response(response: Object) -> bytes:
    made = _text(1, response["description"])
    if "schema" in response:
        made += _bytes(2, _bytes(1, _schema(response["schema"])))
    return _bytes(1, made)


def _extensions(number: int, source: Object) -> bytes:
    extensions = {key: value for key, value in source.items() if key.startswith("x-")}
    return _named(number, extensions, _any)


def _any(value: Any) -> bytes:
    """A value as YAML text; JSON is that."""
    return _bytes(2, msgspec.json.encode(value) + b"\n")


def _named(number: int, values: dict[str, Any], write: Write) -> bytes:
    """A map, which this message has as pairs of a name and a value."""
    return b"".join(_bytes(number, _text(1, name) + _bytes(2, write(value))) for name, value in values.items())


def _texts(number: int, values: Iterable[str]) -> bytes:
    return b"".join(_bytes(number, value.encode()) for value in values)


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode()) if value else b""


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + b"\1" if value else b""


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
