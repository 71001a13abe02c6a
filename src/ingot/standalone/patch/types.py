"""Types as field management sees them: which values are leaves, which lists are sets or maps, which fields are known.

Compiled once from a resolved OpenAPI schema. A type may allow a scalar, a list and a map side by side; the value then
says which of them holds. What a schema leaves open is *deduced*: maps are granular, lists are atomic.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from ingot.api.object import Object
from ingot.standalone.patch import pathelement
from ingot.standalone.patch.values import to_json


class TypedError(Exception):
    """A value does not have its type. `faults` are pairs of a path and what is wrong there."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        self.faults = faults
        shown = [f"{path}: {message}" if path else message for path, message in faults]
        super().__init__(shown[0] if len(shown) == 1 else "\n  ".join(["errors:", *shown]))


class Type:
    """What a value may be.

    `leaf`     the value is owned as a whole, whatever it is
    `loose`    it may hold values that the schema does not type, so that == is not enough to compare two of them
    `atomics`  it is, or holds, a list or map that is owned as a whole
    """

    __slots__ = ("atomics", "leaf", "list", "loose", "map", "scalar")

    def __init__(self, scalar: str = "") -> None:
        self.scalar = scalar
        self.list: ListType | None = None
        self.map: MapType | None = None
        self.leaf = False
        self.loose = scalar == "untyped"
        self.atomics = False


class MapType:
    """A struct, a map, or both: named `fields` (each with its step and type) and the type of every other key."""

    __slots__ = ("atomic", "element", "fields")

    def __init__(self, fields: dict[str, tuple[str, Type]], element: Type | None, atomic: bool) -> None:
        self.fields = fields
        self.element = element
        self.atomic = atomic


class ListType:
    """A list: atomic, a map by the values of `keys`, or a set when there are none."""

    __slots__ = ("_lead", "atomic", "defaults", "element", "keys")

    def __init__(self, element: Type, atomic: bool, keys: tuple[str, ...], defaults: Mapping[str, Any]) -> None:
        self.element = element
        self.atomic = atomic
        self.keys = keys
        self.defaults = defaults
        # What the step to an item begins with, where one key is enough.
        self._lead = f"k:{{{to_json(keys[0])}:" if len(keys) == 1 else ""

    def step(self, item: Any) -> str:
        """The step to an item of this list. Raises ValueError when it has none."""
        if not self.keys:
            return _set_step(item)
        if type(item) is not dict:
            what = "a null element" if item is None else "non-map elements"
            raise ValueError(f"associative list with keys may not have {what}")
        if self._lead and (value := item.get(self.keys[0])) is not None:
            return f"{self._lead}{to_json(value)}}}"
        return pathelement.keyed(sorted((key, self._key_value(item, key)) for key in self.keys))

    def _key_value(self, item: Object, key: str) -> Any:
        if key in item:
            return item[key]
        default = self.defaults.get(key)
        if default is None:
            raise ValueError(
                f'associative list with keys has an element that omits key field "{key}" '
                "(and doesn't have default value)"
            )
        return default

    def steps(self, items: list[Any]) -> list[str]:
        """The steps to all items, in order. Raises TypedError that names each item that has none."""
        try:
            return [self.step(item) for item in items]
        except ValueError:
            raise TypedError(list(self._faults(items))) from None

    def _faults(self, items: list[Any]) -> Iterable[tuple[str, str]]:
        for index, item in enumerate(items):
            try:
                self.step(item)
            except ValueError as error:
                yield "", f"element {index}: {error}"


def _set_step(item: Any) -> str:
    if type(item) is dict:
        raise ValueError("associative list without keys has an element that's a map type")
    if type(item) is list:
        raise ValueError("not supported: associative list with lists as elements")
    if item is None:
        raise ValueError("associative list without keys has an element that's an explicit null")
    return pathelement.valued(item)


def _open_types() -> tuple[Type, Type]:
    untyped, deduced = Type("untyped"), Type("untyped")
    untyped.list = deduced.list = ListType(untyped, True, (), {})
    untyped.map = MapType({}, untyped, True)
    deduced.map = MapType({}, deduced, False)
    untyped.leaf = True
    return untyped, deduced


UNTYPED, DEDUCED = _open_types()

_STRING: Final = {"type": "string"}
_SCALARS: Final = {"integer": "numeric", "number": "numeric", "boolean": "boolean"}


class Compiler:
    """Turns resolved schemas, shared and cyclic as they may be, into types; each only once."""

    def __init__(self, root: Object) -> None:
        self._meta = root.get("properties", {}).get("metadata")
        self._types: dict[tuple[int, bool, Any], Type] = {}
        self.root = self._type(root, False, True)
        self._settle()

    def _type(self, schema: Object, preserve: bool, resource: bool = False) -> Type:
        relation = schema.get("x-kubernetes-map-type")
        referred = schema.get("allOf")
        if referred and len(referred) == 1 and "type" not in schema and "properties" not in schema:
            schema = referred[0]
            relation = relation or schema.get("x-kubernetes-map-type")
        preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
        key = (id(schema), preserve, relation)
        known = self._types.get(key)
        if known is not None:
            return known
        kind = schema.get("type", "")
        out = self._types[key] = Type(_scalar(schema, kind))
        if kind in ("", "object"):
            resource = resource or schema.get("x-kubernetes-embedded-resource") is True
            out.map = self._map(schema, preserve, relation == "atomic", resource)
        if kind in ("", "array"):
            out.list = self._list(schema, preserve)
        return out

    def _map(self, schema: Object, preserve: bool, atomic: bool, resource: bool) -> MapType:
        properties = schema.get("properties") or {}
        if resource and self._meta is not None:
            properties = {"apiVersion": _STRING, "kind": _STRING, **properties, "metadata": self._meta}
        fields = {
            name: ("f:" + name, self._type(inner, preserve and not (resource and name == "metadata")))
            for name, inner in properties.items()
        }
        other = schema.get("additionalProperties")
        element: Type | None = None
        if isinstance(other, dict):
            element = self._type(other, preserve)
        elif other is True or (other is None and (preserve or not properties)):
            element = DEDUCED
        return MapType(fields, element, atomic)

    def _list(self, schema: Object, preserve: bool) -> ListType:
        items = schema.get("items")
        element = self._type(items, preserve) if isinstance(items, dict) else UNTYPED
        atomic, keys = _relation(schema)
        known = element.map.fields if element.map else {}
        inner = (items or {}).get("properties") or {}
        defaults = {key: inner[key].get("default") for key in keys if key in known and key in inner}
        return ListType(element, atomic, keys, defaults)

    def _settle(self) -> None:
        """Derives the flags of each type from those it holds; in rounds, as types may hold themselves."""
        every = list(self._types.values())
        for each in every:
            each.leaf = (each.map is None or each.map.atomic) and (each.list is None or each.list.atomic)
            each.atomics = _owned_whole(each)
        changed = True
        while changed:
            changed = False
            for each in every:
                inner = [held for held in _held(each) if held is not each]
                loose = each.loose or any(held.loose for held in inner)
                atomics = each.atomics or any(held.atomics for held in inner)
                if loose != each.loose or atomics != each.atomics:
                    each.loose, each.atomics, changed = loose, atomics, True


def _scalar(schema: Object, kind: str) -> str:
    if kind == "string":
        return "string" if schema.get("format", "") in ("", "byte") else "untyped"
    return "untyped" if kind == "" else _SCALARS.get(kind, "")


def _relation(schema: Object) -> tuple[bool, tuple[str, ...]]:
    """Whether a list is atomic, and else its keys."""
    kind = schema.get("x-kubernetes-list-type")
    if kind is not None:
        return kind not in ("set", "map"), tuple(schema.get("x-kubernetes-list-map-keys") or ())
    if schema.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = schema.get("x-kubernetes-patch-merge-key")
        return False, (key,) if key else ()
    return True, ()


def _owned_whole(each: Type) -> bool:
    if each.list is not None and each.map is None and not each.scalar and each.list.atomic:
        return True
    if each.map is None or not each.map.atomic:
        return False
    element = each.map.element
    return bool(each.map.fields) or element is None or element.scalar != "untyped"


def _held(each: Type) -> Iterable[Type]:
    if each.map is not None:
        for _, inner in each.map.fields.values():
            yield inner
        if each.map.element is not None:
            yield each.map.element
    if each.list is not None:
        yield each.list.element
