"""From a Python type to a structural OpenAPI v3 schema, as apiextensions/v1 wants it: no $ref, no cycle."""

import inspect
import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, UnsetType

from ingot.api.machinery.field import Field
from ingot.api.machinery.shape import Shape
from ingot.api.object import Object

_SCALARS: dict[Any, Object] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer", "format": "int64"},
    float: {"type": "number", "format": "double"},
}

_LIMITS = {
    "pattern": "pattern",
    "format": "format",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_items": "minItems",
    "max_items": "maxItems",
    "max_properties": "maxProperties",
    "list_type": "x-kubernetes-list-type",
    "map_type": "x-kubernetes-map-type",
}


def schema_of(hint: Any) -> Object:
    """The schema of a type: a Shape, a scalar, a list, a map, a Literal or an Annotated one of these.

    Parts of it are shared with other schemas: copy what you change.
    Raises TypeError for a type that a structural schema cannot say, a recursive one among them.
    """
    return _schema(hint, ())


def peel(hint: Any) -> tuple[Any, Field]:
    """The bare type below Annotated, Opt and `| None`, and all that these say, the outermost first."""
    field = Field()
    while True:
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            for note in reversed(notes):
                if isinstance(note, Field):
                    field = field.over(note)
            continue
        if get_origin(hint) in (Union, types.UnionType):
            arms = get_args(hint)
            present = [arm for arm in arms if arm not in (UnsetType, types.NoneType)]
            if types.NoneType in arms:
                field = field.over(Field(nullable=True))
            if len(present) < len(arms):
                hint = Union[tuple(present)]  # noqa: UP007 — the arms are known at run time only
                continue
        return hint, field


def doc_of(shape: object) -> str:
    """A type's own docstring as one line; a type without one says nothing, whatever its base says."""
    return " ".join(inspect.cleandoc(shape.__doc__ or "").split())


def members(shape: type[Shape]) -> list[tuple[str, Any, Any, bool]]:
    """(JSON name, type, default or UNSET, required) of each field, in the order of writing."""
    hints = get_type_hints(shape, include_extras=True)
    found = []
    for each in msgspec.structs.fields(shape):
        default = each.default
        if each.default_factory is not msgspec.NODEFAULT:
            default = each.default_factory()
        fixed = UNSET if default is msgspec.NODEFAULT else default
        found.append((each.encode_name, hints[each.name], fixed, each.required))
    return found


def _schema(hint: Any, above: tuple[type, ...]) -> Object:
    bare, field = peel(hint)
    schema = _bare_schema(bare, field, above)
    return _limited(schema, field)


def _bare_schema(bare: Any, field: Field, above: tuple[type, ...]) -> Object:
    origin, arguments = get_origin(bare), get_args(bare)
    if bare in _SCALARS:
        return dict(_SCALARS[bare])
    if bare is Any:
        return {"x-kubernetes-preserve-unknown-fields": True}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (Union, types.UnionType) and set(arguments) == {int, str}:
        return {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0], above)}
    if origin is dict and field.preserve:
        return {"type": "object"}
    if origin is dict and arguments[0] is str:
        return {"type": "object", "additionalProperties": _schema(arguments[1], above)}
    if isinstance(bare, type) and issubclass(bare, Shape):
        return _shape_schema(bare, above)
    raise TypeError(f"{bare!r} has no structural schema: use a Shape, scalar, list, dict[str, …], Literal or Raw")


# The same small shapes are in many kinds, and `ingot up` makes all schemas at its start.
_MADE: dict[type[Shape], Object] = {}


def _shape_schema(shape: type[Shape], above: tuple[type, ...]) -> Object:
    if shape in above:
        raise TypeError(f"{shape.__name__} contains itself: a structural schema cannot recurse; use Raw")
    if shape not in _MADE:
        _MADE[shape] = _new_shape_schema(shape, above)
    return dict(_MADE[shape])


def _new_shape_schema(shape: type[Shape], above: tuple[type, ...]) -> Object:
    schema: Object = {"type": "object"}
    if doc_of(shape):
        schema["description"] = doc_of(shape)
    properties: Object = {}
    required = []
    for name, hint, default, is_required in members(shape):
        properties[name] = _schema(hint, (*above, shape))
        if default is not UNSET:
            properties[name]["default"] = msgspec.to_builtins(default)
        if is_required:
            required.append(name)
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = required
    if shape.PRESERVE:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if shape.RULES:
        schema["x-kubernetes-validations"] = [rule.schema() for rule in shape.RULES]
    return schema


def _limited(schema: Object, field: Field) -> Object:
    if field.doc:
        schema["description"] = field.doc
    for name, key in _LIMITS.items():
        value = getattr(field, name)
        if value is not None:
            schema[key] = value
    if field.enum:
        schema["enum"] = list(field.enum)
    if field.keys:
        schema["x-kubernetes-list-map-keys"] = list(field.keys)
    if field.nullable:
        schema["nullable"] = True
    if field.preserve:
        schema["x-kubernetes-preserve-unknown-fields"] = True
    if field.embedded:
        schema["x-kubernetes-embedded-resource"] = True
    if field.rules:
        schema["x-kubernetes-validations"] = [
            *schema.get("x-kubernetes-validations", ()),
            *(rule.schema() for rule in field.rules),
        ]
    return schema
