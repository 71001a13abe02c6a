"""The reference page: every kind and every type that kinds are made of, in Markdown, out of the Python types."""

import inspect
import types
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Union, get_args, get_origin

from msgspec import UNSET

from ingot.api.machinery.kind import KindInfo
from ingot.api.machinery.schema import doc_of, members, peel
from ingot.api.machinery.shape import Shape
from ingot.api.object import Object

_LIMITS = (
    ("enum", "one of"),
    ("pattern", "pattern"),
    ("format", "format"),
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("max_length", "length at most"),
    ("min_items", "items at least"),
    ("max_items", "items at most"),
    ("keys", "items told apart by"),
)
_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", Any: "any"}
_COMMON = ("apiVersion", "kind", "metadata")


def page(kinds: Iterable[KindInfo]) -> str:
    """The whole page: kinds by group and name, then their types by name."""
    ordered = sorted(kinds, key=lambda info: (info.group, info.kind))
    shapes = _shapes(ordered)
    lines = ["# Reference", ""]
    lines += [
        "The kinds of Ingot and all their fields. Written by `python -m ingot.api.machinery.generate` from the "
        "types in `src/ingot/api`.",
        "",
    ]
    lines += [f"- [{info.kind}](#{_slug(_title(info))}), `{info.api_version()}`" for info in ordered]
    for info in ordered:
        lines += ["", *_kind(info, shapes)]
    lines += ["", "## Types"]
    for shape, name in sorted(shapes.items(), key=lambda pair: pair[1].lower()):
        lines += ["", f"### {name}", "", *_shape(shape, shapes)]
    return "\n".join(lines) + "\n"


def _shapes(kinds: Iterable[KindInfo]) -> dict[type[Shape], str]:
    """Every shape below the kinds, with a name of its own: `Condition`, or `Condition (cdi)` where two share one."""
    found: dict[type[Shape], None] = {}
    for info in kinds:
        for name, hint, _, _ in members(info.shape):
            if name not in _COMMON:
                _collect(hint, found)
        for version in info.versions:
            for hint in version.overrides.values():
                _collect(hint, found)
    names = [shape.__name__ for shape in found]
    return {
        shape: shape.__name__
        if names.count(shape.__name__) == 1
        else f"{shape.__name__} ({shape.__module__.removeprefix('ingot.api.').replace('.', ' ')})"
        for shape in found
    }


def _collect(hint: Any, found: dict[type[Shape], None]) -> None:
    bare, _ = peel(hint)
    if inspect.isclass(bare) and issubclass(bare, Shape):
        if bare not in found:
            found[bare] = None
            for _, below, _, _ in members(bare):
                _collect(below, found)
    elif get_origin(bare) in (list, dict):
        _collect(get_args(bare)[-1], found)


def _title(info: KindInfo) -> str:
    return f"{info.kind} of {info.group}"


def _slug(title: str) -> str:
    return "".join(each for each in title.lower().replace(" ", "-") if each.isalnum() or each in "-_")


def _kind(info: KindInfo, shapes: dict[type[Shape], str]) -> Iterator[str]:
    yield f"## {_title(info)}"
    yield ""
    yield doc_of(info.shape)
    yield ""
    yield f"- Stored as `{info.api_version()}`."
    names = ", ".join(f"`{name}`" for name in (info.plural, info.singular, *info.short_names))
    yield f"- Names for kubectl: {names}. {'In a namespace' if info.namespaced else 'For the whole cluster'}."
    subresources = [name for name, has in (("status", info.status), ("scale", info.scale)) if has]
    if subresources:
        yield f"- Subresources: {', '.join(f'`{name}`' for name in subresources)}."
    for version in info.versions[1:]:
        yield f"- Also served as `{info.api_version(version.name)}`{_differences(version.overrides, shapes)}."
    yield ""
    yield from _shape(info.shape, shapes)


def _differences(overrides: Any, shapes: dict[type[Shape], str]) -> str:
    said = []
    for path, hint in overrides.items():
        what = doc_of(hint).rstrip(".") if inspect.isfunction(hint) else f"a {_type(hint, shapes)}"
        said.append(f"`{path}` is {what[:1].lower()}{what[1:]}")
    return f", where {'; '.join(said)}" if said else ""


def _shape(shape: type[Shape], shapes: dict[type[Shape], str]) -> Iterator[str]:
    """A type's fields as a table, then its rules."""
    if shape in shapes:
        yield doc_of(shape)
        yield ""
    rows = [row for row in members(shape) if shape in shapes or row[0] not in _COMMON]
    if rows:
        yield "| field | type | what it is |"
        yield "| --- | --- | --- |"
    for name, hint, default, required in rows:
        yield f"| `{name}` | {_type(hint, shapes)} | {_notes(hint, default, required)} |"
    rules = [*shape.RULES, *(rule for _, hint, _, _ in rows for rule in peel(hint)[1].rules)]
    if rules:
        yield ""
        yield from (f"- {rule.message[:1].upper()}{rule.message[1:]}." for rule in rules)
    elif not rows:
        yield "It has no fields."


def _type(hint: Any, shapes: dict[type[Shape], str]) -> str:
    bare, field = peel(hint)
    origin, arguments = get_origin(bare), get_args(bare)
    if bare in shapes:
        return f"[{shapes[bare]}](#{_slug(shapes[bare])})"
    if origin is list:
        return f"list of {_type(arguments[0], shapes)}"
    if origin is dict:
        return "object" if field.preserve else f"map of {_type(arguments[1], shapes)}"
    if origin in (Union, types.UnionType):
        return "integer or string"
    return "string" if origin is Literal else _SCALARS[bare]


def _notes(hint: Any, default: Any, required: bool) -> str:
    bare, field = peel(hint)
    notes = [field.doc or (doc_of(bare) if inspect.isclass(bare) and issubclass(bare, Shape) else "")]
    if required:
        notes.append("Required.")
    if default not in (UNSET, ""):
        notes.append(f"Default: `{str(default).lower() if isinstance(default, bool) else default}`.")
    said: Object = {name: getattr(field, name) for name, _ in _LIMITS}
    if get_origin(bare) is Literal:
        said["enum"] = get_args(bare)
    notes += [f"{text[:1].upper()}{text[1:]} {_listed(said[name])}." for name, text in _LIMITS if _told(name, said)]
    return " ".join(note for note in notes if note).replace("|", "\\|")


def _told(name: str, said: Object) -> bool:
    # The sizes of integers are for programs.
    return said[name] is not None and said[name] not in ("int32", "int64")


def _listed(value: object) -> str:
    values = value if isinstance(value, tuple) else (value,)
    return ", ".join(f"`{each}`" for each in values if each != "")
