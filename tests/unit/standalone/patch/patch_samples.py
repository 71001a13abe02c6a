"""A kind with every sort of list and map, and objects of it, for the tests of patches and managed fields."""

from hypothesis import strategies as st

from ingot.standalone.patch import fieldset
from ingot.standalone.patch.managers import FieldManager
from ingot.standalone.patch.typed import TypedSchema

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:00:01Z"

STRING = {"type": "string"}
STRINGS = {"type": "object", "additionalProperties": STRING}
META = {
    "type": "object",
    "properties": {
        "name": STRING,
        "namespace": STRING,
        "uid": STRING,
        "resourceVersion": STRING,
        "creationTimestamp": {"type": "string", "format": "date-time"},
        "generation": {"type": "integer"},
        "labels": STRINGS,
        "annotations": STRINGS,
        "finalizers": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "text": STRING,
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "either": {"x-kubernetes-int-or-string": True},
        "struct": {
            "type": "object",
            "properties": {"a": STRING, "deep": {"type": "object", "properties": {"b": STRING}}},
        },
        "map": STRINGS,
        "structs": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": STRING}}},
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {
                    "name": STRING,
                    "value": STRING,
                    "tags": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
                },
            },
        },
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "protocol": {"type": "string", "default": "TCP"},
                    "note": STRING,
                },
            },
        },
        "set": {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "list": {"type": "array", "items": STRING},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": STRING},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
STATUS = {"type": "object", "properties": {"phase": STRING}}
SCHEMA = {
    "type": "object",
    "properties": {"apiVersion": STRING, "kind": STRING, "metadata": META, "spec": SPEC, "status": STATUS},
}
TYPED = TypedSchema(SCHEMA)


def manager(subresource: str = "", version: str = "v1", versions: tuple[str, ...] = ("v1",)) -> FieldManager:
    """The field manager of widgets; other versions have the same fields."""
    reset = fieldset.of(fieldset.fields("spec" if subresource == "status" else "status"))
    schemas = {f"test/{name}": TypedSchema(SCHEMA) for name in versions}

    def convert(obj: dict, api_version: str) -> dict:
        return {**obj, "apiVersion": api_version}

    return FieldManager("Widget", f"test/{version}", schemas, subresource, reset, convert)


def widget(spec: dict | None = None, version: str = "v1", **metadata: object) -> dict:
    """An applied configuration, or the content of an object."""
    obj: dict = {"apiVersion": f"test/{version}", "kind": "Widget", "metadata": {"name": "w", **metadata}}
    if spec is not None:
        obj["spec"] = spec
    return obj


def stored(obj: dict, managed: list[dict]) -> dict:
    """The object as it would be read back."""
    system = {"uid": "u", "resourceVersion": "1", "creationTimestamp": NOW}
    return {**obj, "metadata": {**obj["metadata"], **system, "managedFields": managed}}


def owned(managed: list[dict]) -> dict[str, dict]:
    """fieldsV1 by manager."""
    return {entry["manager"]: entry["fieldsV1"] for entry in managed}


_words = st.sampled_from(["a", "b", "c", "x"])
_maps = st.dictionaries(_words, _words, max_size=3)
_items = st.lists(
    st.fixed_dictionaries(
        {"name": _words}, optional={"value": _words, "tags": st.lists(_words, max_size=3, unique=True)}
    ),
    max_size=3,
    unique_by=lambda item: item["name"],
)
_ports = st.lists(
    st.fixed_dictionaries(
        {"port": st.sampled_from([80, 81])},
        optional={"protocol": st.sampled_from(["TCP", "UDP"]), "note": _words},
    ),
    max_size=3,
    unique_by=lambda item: (item["port"], item.get("protocol", "TCP")),
)
_free = st.recursive(
    st.sampled_from([0, 1, True, False, "a", 1.5]),
    lambda inner: st.dictionaries(_words, inner, max_size=2) | st.lists(inner, max_size=2),
    max_leaves=4,
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": _words,
        "number": st.integers(0, 2),
        "flag": st.booleans(),
        "either": st.sampled_from([1, "a"]),
        "struct": st.fixed_dictionaries(
            {}, optional={"a": _words, "deep": st.fixed_dictionaries({}, optional={"b": _words})}
        ),
        "map": _maps,
        "structs": st.dictionaries(_words, st.fixed_dictionaries({}, optional={"x": _words}), max_size=2),
        "items": _items,
        "ports": _ports,
        "set": st.lists(_words, max_size=3, unique=True),
        "list": st.lists(_words, max_size=3),
        "whole": _maps,
        "free": st.dictionaries(_words, _free, max_size=2),
    },
)


def _full(value: object) -> object:
    if isinstance(value, dict):
        made = {name: _full(inner) for name, inner in value.items()}
        return {name: inner for name, inner in made.items() if inner not in ({}, [])}
    return [_full(inner) for inner in value if inner not in ({}, [])] if isinstance(value, list) else value


# Without empty containers: those may become null, or vanish, when they are applied.
full_specs = specs.map(_full)
