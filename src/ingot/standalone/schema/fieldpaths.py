"""The paths by which a CRD names a field of its own schema: `.spec.replicas`, `.spec.labels['a.b']`."""

import re

from ingot.api.object import Object
from ingot.standalone import fields

# A text in quotes, one of the three signs, or what stands between them.
_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[.\[\]]|[^.\[\]]+", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """The path does not lead to a field; the text is Kubernetes'."""


def resolve(path: str, schema: Object, brackets: bool = True) -> tuple[str, Object]:
    """(the path as field errors print it, the schema of the field). Raises FieldPathError."""
    found = ""
    tokens = _TOKEN.findall(path)[::-1]
    while tokens:
        sign = tokens.pop()
        if sign == "[" and not brackets:
            raise FieldPathError("array notation is not allowed")
        if sign not in (".", "["):
            raise FieldPathError(f"expected [ or . but got: {sign}")
        if not tokens:
            raise FieldPathError("unexpected end of JSON path")
        name = _quoted(tokens.pop()) if sign == "[" else tokens.pop()
        found, schema = _step(found, name, schema)
        if sign == "[":
            _close(tokens)
    return found, schema


def _close(tokens: list[str]) -> None:
    if not tokens:
        raise FieldPathError("unexpected end of JSON path")
    sign = tokens.pop()
    if sign != "]":
        raise FieldPathError(f"expected ] but got {sign}")


def _step(found: str, name: str, schema: Object) -> tuple[str, Object]:
    properties, additional = schema.get("properties"), schema.get("additionalProperties")
    if properties:
        if name in properties:
            return fields.child(found, name), properties[name]
    elif isinstance(additional, dict):
        return fields.key(found, name), additional
    raise FieldPathError("does not refer to a valid field")


def _quoted(token: str) -> str:
    if len(token) < 2 or not (token.startswith("'") and token.endswith("'")):
        raise FieldPathError(f"expected single quoted string but got {token}")

    def unescaped(match: re.Match[str]) -> str:
        if match[0][1] not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {match[0]}")
        return _ESCAPES[match[0][1]]

    return re.sub(r"\\.", unescaped, token[1:-1], flags=re.DOTALL)
