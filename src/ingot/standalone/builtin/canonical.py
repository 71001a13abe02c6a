"""The one form of an object of Kubernetes' own kinds.

Kubernetes reads an object into typed memory and writes it out again, so that `hostNetwork: false` vanishes, an
absent `status` becomes `{}` and `1000m` becomes `1`. `canonical` does the same to a JSON object, in place.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ingot.api import quantity
from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.builtin import schemas, shapes

# What becomes of a value: the value itself, or another one in its place.
_Convert = Callable[[Any], Any]
_SCHEMA = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_SCHEMA_OR_OTHER = frozenset({f"{_SCHEMA}OrArray", f"{_SCHEMA}OrBool", f"{_SCHEMA}OrStringArray"})


class _Plan:
    """How the fields of one structure are written."""

    __slots__ = ("always", "convert", "dropped", "nulled")

    def __init__(self) -> None:
        # Fields whose values need work, with that work; fields left out when empty; lists and maps written as null
        # when empty; fields always written, with what makes their zero.
        self.convert: dict[str, _Convert] = {}
        self.dropped: set[str] = set()
        self.nulled: set[str] = set()
        self.always: dict[str, Callable[[], Any]] = {}


_plans: dict[str, _Plan] = {}


def canonical(schema: Object, obj: Object) -> None:
    """Brings an object of a resolved schema into its one form, in place.

    Its JSON types must be right (`decode.decode_error`); fields that the schema does not know stay.
    """
    _struct(_plan(schema), obj)


def _plan(schema: Object) -> _Plan:
    name = schemas.name_of(schema)
    if name not in _plans:
        # Entered before it is filled, for structures that contain themselves.
        plan = _plans[name] = _Plan()
        _fill(plan, name, schema)
    return _plans[name]


def _fill(plan: _Plan, name: str, schema: Object) -> None:
    required = set(schema.get("required", ())) | set(shapes.values().get(name, ()))
    if "x-kubernetes-group-version-kind" in schema:
        required = (required | {"metadata"}) - {"apiVersion", "kind"}
    kept = shapes.pointers().get(name, ())
    nulls = shapes.nulls().get(name, ())
    for field, child in schema["properties"].items():
        if (convert := _converter(child)) is not None:
            plan.convert[field] = convert
        if field in nulls:
            plan.always[field] = _null
        elif field in required:
            plan.always[field] = _zero(child)
            if child.get("type") == "array" or ("additionalProperties" in child and "properties" not in child):
                plan.nulled.add(field)
        elif field not in kept and not _is_reference(child):
            plan.dropped.add(field)


def _is_reference(schema: Object) -> bool:
    """Whether an optional field of this schema is a pointer in Kubernetes, and so written as it was given."""
    name = schemas.name_of(schema)
    # A map under a name of its own is still a map.
    return bool(name) and not ("additionalProperties" in schema and "properties" not in schema)


def _struct(plan: _Plan, obj: Object) -> Object:
    convert = plan.convert
    gone = []
    for key, value in obj.items():
        if value is not None and key in convert:
            obj[key] = value = convert[key](value)
        if value is None or (not value and key in plan.dropped):
            gone.append(key)
        elif not value and key in plan.nulled:
            obj[key] = None
    for key in gone:
        del obj[key]
    for key, zero in plan.always.items():
        if key not in obj:
            obj[key] = zero()
    return obj


def _converter(schema: Object) -> _Convert | None:
    """The work on a value of this schema, or None for one that is written as it is."""
    name = schemas.name_of(schema)
    if name == schemas.QUANTITY:
        return quantity.canonical
    if name in (schemas.TIME, schemas.MICRO_TIME):
        return partial(times.canonical, micro=name == schemas.MICRO_TIME)
    if name in _SCHEMA_OR_OTHER:
        return _schema_or_other
    if "properties" in schema:
        return partial(_structure, schema)
    if schema.get("type") == "array":
        items = _converter(schema["items"])
        return partial(_list, items) if items else None
    if isinstance(schema.get("additionalProperties"), dict):
        return _map_converter(schema["additionalProperties"])
    return None


def _map_converter(items: Object) -> _Convert:
    if schemas.name_of(items) == schemas.QUANTITY:
        return _resource_list
    return partial(_map, _converter(items), "" if items.get("type") == "string" else None)


def _structure(schema: Object, value: Object) -> Object:
    return _struct(_plan(schema), value)


def _schema_or_other(value: Any) -> Any:
    """What a CRD's schema may hold in place of a schema: a flag, a list of schemas, names of fields."""
    if isinstance(value, list):
        return [_schema_or_other(item) for item in value]
    return _structure(schemas.resolved(_SCHEMA), value) if isinstance(value, dict) else value


def _list(convert: _Convert, value: list[Any]) -> list[Any]:
    return [item if item is None else convert(item) for item in value]


def _map(convert: _Convert | None, null: Any, value: Object) -> Object:
    """A map keeps its keys: a null in it becomes the zero of its type."""
    for key, item in value.items():
        if item is None:
            value[key] = null
        elif convert is not None:
            value[key] = convert(item)
    return value


def _resource_list(value: Object) -> Object:
    for key, item in value.items():
        value[key] = quantity.Quantity.parse(item).rounded_to_milli() if item is not None else "0"
    return value


def _null() -> None:
    return None


def _zero(schema: Object) -> Callable[[], Any]:
    """What makes the value of a field that is always written and was not given."""
    name = schemas.name_of(schema)
    if name == schemas.QUANTITY:
        return lambda: "0"
    if name == schemas.INT_OR_STRING or schema.get("type") in ("integer", "number"):
        return int
    if "properties" in schema:
        return lambda: _struct(_plan(schema), {})
    if schema.get("type") == "boolean":
        return bool
    if schema.get("type") == "string" and "format" not in schema:
        return str
    return _null
