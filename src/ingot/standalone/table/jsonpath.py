"""The JSONPath of printer columns: fields, indexes, wildcards and filters such as `[?(@.type=="Ready")]`."""

import json
import operator as operators
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

# One step of a path: from a value to the values that the step selects in it.
Step = Callable[[Any], Iterator[Any]]

_FIELD = re.compile(r"\.?((?:\\.|[^.\[\]\\])+)")
_QUOTED = re.compile(r"""\[(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\]""")
_INDEX = re.compile(r"\[(-?\d{1,18})\]")
_SLICE = re.compile(r"\[(-?\d{0,18}):(-?\d{0,18})\]")
_ANY = re.compile(r"\[\*\]|\.\*")
_FILTER = re.compile(r"\[\?\((.+?)\)\]")
_COMPARISON = re.compile(r"@([^\s=!<>]*+)\s*+(==|!=|<=|>=|<|>)\s*+(.+)")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operators.eq,
    "!=": operators.ne,
    "<": operators.lt,
    ">": operators.gt,
    "<=": operators.le,
    ">=": operators.ge,
}


class JsonPathError(ValueError):
    """The text is no path that a column may have."""


@lru_cache(maxsize=1024)
def compile_path(text: str) -> tuple[Step, ...]:
    """The steps of a path such as `.status.conditions[0].type`. Raises JsonPathError."""
    steps: list[Step] = []
    path = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    at, last = 0, len(path) - 1
    while at < last or (at == last and path[at] != "."):
        step, at = _next(path, at, text)
        steps.append(step)
    return tuple(steps)


def _next(path: str, at: int, text: str) -> tuple[Step, int]:
    """The step that begins at a place of the path, and where the next one does."""
    if found := _ANY.match(path, at):
        return _every, found.end()
    if found := _INDEX.match(path, at):
        return _item(int(found[1])), found.end()
    if found := _SLICE.match(path, at):
        return _slice(found[1], found[2]), found.end()
    if found := _QUOTED.match(path, at):
        return _field(_plain(found[1] or found[2] or "")), found.end()
    if found := _FILTER.match(path, at):
        return _filter(found[1], text), found.end()
    if found := _FIELD.match(path, at):
        return _field(_plain(found[1])), found.end()
    raise JsonPathError(f"not a JSONPath: {text}")


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _field(name: str) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, dict) and name in value:
            yield value[name]

    return step


def _item(index: int) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list) and -len(value) <= index < len(value):
            yield value[index]

    return step


def _slice(start: str, stop: str) -> Step:
    cut = slice(int(start) if start else None, int(stop) if stop else None)

    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from value[cut]

    return step


def _every(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _filter(text: str, whole: str) -> Step:
    """Items of a list that have a field, or whose field compares as asked."""
    text = text.strip()
    found = _COMPARISON.fullmatch(text)
    if found is None:
        if not text.startswith("@"):
            raise JsonPathError(f"not a JSONPath: {whole}")
        inner = compile_path(text[1:])
        return _matching(lambda item: any(True for _ in _walk(inner, item)))
    inner, operator, wanted = compile_path(found[1]), found[2], _literal(found[3])
    return _matching(lambda item: any(_compares(value, operator, wanted) for value in _walk(inner, item)))


def _matching(test: Callable[[Any], bool]) -> Step:
    def step(value: Any) -> Iterator[Any]:
        if isinstance(value, list):
            yield from (item for item in value if test(item))

    return step


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return _plain(text[1:-1])
    try:
        return json.loads(text)
    except ValueError:
        return text


def _compares(value: Any, operator: str, wanted: Any) -> bool:
    try:
        return bool(_OPERATORS[operator](value, wanted))
    except TypeError:
        return False


def _walk(steps: tuple[Step, ...], value: Any) -> Iterator[Any]:
    if not steps:
        yield value
        return
    for inner in steps[0](value):
        yield from _walk(steps[1:], inner)


def find(text: str, value: Any) -> list[Any]:
    """Everything that the path selects. Raises JsonPathError for a text that is no path."""
    return list(_walk(compile_path(text), value))
