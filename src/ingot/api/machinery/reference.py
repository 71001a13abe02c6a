"""The reference page: every kind and every field, in Markdown, out of the schemas."""

from collections.abc import Iterable, Iterator

from ingot.api.machinery.crd import version_schema
from ingot.api.machinery.kind import KindInfo
from ingot.api.object import Object

_LIMITS = (
    ("enum", "one of"),
    ("pattern", "pattern"),
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("minLength", "length at least"),
    ("maxLength", "length at most"),
    ("minItems", "items at least"),
    ("maxItems", "items at most"),
    ("x-kubernetes-list-map-keys", "items told apart by"),
)


def page(kinds: Iterable[KindInfo]) -> str:
    """The whole page, kinds in the order of their names."""
    ordered = sorted(kinds, key=lambda info: (info.group, info.kind))
    lines = [
        "# Reference",
        "",
        "Every kind of Ingot and every field, generated from the types in `src/ingot/api` by "
        "`python -m ingot.api.machinery.generate`.",
        "",
    ]
    lines += [f"- [{info.kind}](#{_anchor(info)}) `{info.api_version()}`" for info in ordered]
    for info in ordered:
        lines += ["", *_kind(info)]
    return "\n".join(lines) + "\n"


def _anchor(info: KindInfo) -> str:
    return f"{info.kind}-{info.group}".lower().replace(".", "")


def _kind(info: KindInfo) -> Iterator[str]:
    schema = version_schema(info, info.stored)
    yield f"## {info.kind} ({info.group})"
    yield ""
    yield schema["description"]
    yield ""
    yield f"- Stored as `{info.api_version()}`{_also_served(info)}."
    names = ", ".join(f"`{name}`" for name in (info.plural, info.singular, *info.short_names))
    yield f"- Names for kubectl: {names}."
    yield f"- {'Lives in a namespace' if info.namespaced else 'Belongs to the whole cluster'}."
    subresources = [name for name, has in (("status", info.status), ("scale", info.scale)) if has]
    if subresources:
        yield f"- Subresources: {', '.join(f'`{name}`' for name in subresources)}."
    for part in schema["properties"]:
        if part in ("apiVersion", "kind", "metadata"):
            continue
        yield ""
        yield f"### {info.kind} {part}"
        yield ""
        yield from _part(part, schema["properties"][part], part in schema.get("required", ()))


def _also_served(info: KindInfo) -> str:
    others = [f"`{info.api_version(version.name)}`" for version in info.versions[1:] if version.served]
    return f"; also served as {', '.join(others)}" if others else ""


def _part(name: str, schema: Object, required: bool) -> Iterator[str]:
    yield "| field | type | what it is |"
    yield "| --- | --- | --- |"
    yield _row(name, schema, required)
    yield from _rows(name, schema)


def _rows(path: str, schema: Object) -> Iterator[str]:
    """One row for each field below a path, depth first."""
    while "items" in schema or isinstance(schema.get("additionalProperties"), dict):
        path += "[]" if "items" in schema else ".<key>"
        schema = schema.get("items") or schema["additionalProperties"]
    required = schema.get("required", ())
    for name, below in schema.get("properties", {}).items():
        yield _row(f"{path}.{name}", below, name in required)
        yield from _rows(f"{path}.{name}", below)


def _row(path: str, schema: Object, required: bool) -> str:
    notes = [schema.get("description", "")]
    if required:
        notes.append("Required.")
    if "default" in schema:
        notes.append(f"Default: `{_json(schema['default'])}`.")
    for key, said in _LIMITS:
        if key in schema:
            notes.append(f"{said.capitalize()}: {_listed(schema[key])}.")
    notes += [f"Rule: {rule['message']}." for rule in schema.get("x-kubernetes-validations", ())]
    text = " ".join(note for note in notes if note).replace("|", "\\|")
    return f"| `{path}` | {_type(schema)} | {text} |"


def _listed(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(f"`{each}`" for each in values)


def _json(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "{}" if value == {} else str(value)


def _type(schema: Object) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if "items" in schema:
        return f"list of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}"
    if schema.get("format") == "date-time":
        return "time"
    return str(schema.get("type", "any"))
