"""What a CRD may say about its lists and maps: atomic, set, map, and the keys of the latter."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.goprint import strings

_LIST_TYPE, _MAP_TYPE, _KEYS = "x-kubernetes-list-type", "x-kubernetes-map-type", "x-kubernetes-list-map-keys"


def check(schema: Object, path: str) -> list[Cause]:
    causes = _map_type(schema, path) + _list_type(schema, path)
    items = schema.get("items")
    if schema.get(_LIST_TYPE) == "map":
        causes += _list_map(schema, path)
    if isinstance(items, dict) and schema.get(_LIST_TYPE) in ("set", "map"):
        causes += _items(schema, items, path)
    return causes


def _map_type(schema: Object, path: str) -> list[Cause]:
    given = schema.get(_MAP_TYPE)
    if given is None:
        return []
    causes = _of_type("object", _MAP_TYPE, schema, path)
    if given not in ("atomic", "granular"):
        causes.append(fields.not_supported(f"{path}.{_MAP_TYPE}", given, ("atomic", "granular")))
    return causes


def _of_type(wanted: str, keyword: str, schema: Object, path: str) -> list[Cause]:
    kind, detail = schema.get("type") or "", f"must be {wanted} if {keyword} is specified"
    if kind == wanted:
        return []
    return [fields.invalid(f"{path}.type", kind, detail) if kind else fields.required(f"{path}.type", detail)]


def _list_type(schema: Object, path: str) -> list[Cause]:
    given, items = schema.get(_LIST_TYPE), schema.get("items")
    causes = []
    if given is not None:
        causes += _of_type("array", _LIST_TYPE, schema, path)
        if not causes and given == "set" and isinstance(items, dict):
            causes += _atomic_items(items, path)
        if given not in ("atomic", "set", "map"):
            causes.append(fields.not_supported(f"{path}.{_LIST_TYPE}", given, ("atomic", "set", "map")))
    if schema.get(_KEYS) and given != "map":
        place, detail = f"{path}.{_LIST_TYPE}", f"must be map if {_KEYS} is non-empty"
        causes.append(fields.required(place, detail) if given is None else fields.invalid(place, given, detail))
    return causes


def _atomic_items(items: Object, path: str) -> list[Cause]:
    """The items of a set are compared whole, so nothing in them may be merged."""
    detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
    given = items.get(_LIST_TYPE)
    if items.get("type") == "array" and given not in (None, "atomic"):
        return [fields.invalid(f"{path}.items.{_LIST_TYPE}", given, detail)]
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        # Kubernetes shows the list type here, which an object does not have.
        return [fields.invalid(f"{path}.items.{_MAP_TYPE}", given, detail)]
    return []


def _list_map(schema: Object, path: str) -> list[Cause]:
    causes = []
    keys, items = schema.get(_KEYS) or [], schema.get("items")
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        causes.append(fields.required(f"{path}.{_KEYS}", detail))
    if items is None:
        causes.append(fields.required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map"))
    if not isinstance(items, dict):
        return causes
    kind = items.get("type") or ""
    if kind != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        return [*causes, fields.invalid(f"{path}.items.type", kind, detail)]
    shown, seen = strings(keys), set()
    for name in keys:
        below = (items.get("properties") or {}).get(name)
        if below is None:
            detail = "entries must all be names of item properties"
            causes.append(fields.invalid(f"{path}.{_KEYS}", shown, detail))
        elif below.get("type") in ("array", "object"):
            place = f"{fields.key(f'{path}.items.properties', name)}.type"
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            causes.append(fields.invalid(place, kind, detail))
        if name in seen:
            causes.append(fields.invalid(f"{path}.{_KEYS}", shown, "must not contain duplicate entries"))
        seen.add(name)
    return causes


def _items(schema: Object, items: Object, path: str) -> list[Cause]:
    """Items of sets and maps are never null, and the keys of a map always there."""
    causes = []
    if items.get("nullable"):
        detail = f"cannot be nullable when x-kubernetes-list-type is {schema[_LIST_TYPE]}"
        causes.append(fields.forbidden(f"{path}.items.nullable", detail))
    if schema[_LIST_TYPE] != "map":
        return causes
    required = set(items.get("required") or ())
    for name in schema.get(_KEYS) or ():
        below = (items.get("properties") or {}).get(name)
        if below is None:
            continue
        place = fields.key(f"{path}.items.properties", name)
        why = "this property is in x-kubernetes-list-map-keys, so it"
        if name not in required and below.get("default") is None:
            causes.append(fields.required(f"{place}.default", f"{why} must have a default or be a required property"))
        if below.get("nullable"):
            causes.append(fields.forbidden(f"{place}.nullable", f"{why} cannot be nullable"))
    return causes
