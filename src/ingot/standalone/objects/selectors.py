"""Label and field selectors: texts in a query, predicates on objects."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from ingot.api.object import Object
from ingot.api.status import bad_request

Predicate = Callable[[Object], bool]
Requirement = Callable[[Mapping[str, str]], bool]

_KEY = re.compile(r"^([a-z0-9A-Z]([-a-z0-9A-Z.]{0,251}[a-z0-9A-Z])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
_VALUE = re.compile(r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
_SET = re.compile(r"^\s*(\S+)\s+(in|notin)\s*\(([^()]*)\)\s*$")
_COMPARE = re.compile(r"^\s*([^\s=!<>]+)\s*(==|=|!=|<|>)\s*([^\s=!<>]*)\s*$")
_EXISTS = re.compile(r"^\s*(!?)\s*([^\s=!<>]+)\s*$")


def _split(text: str) -> list[str]:
    """Splits at the commas that stand outside of parentheses."""
    return [part for part in re.split(r",(?![^()]*\))", text) if part.strip()]


@lru_cache(maxsize=1024)
def labels(text: str) -> Sequence[Requirement]:
    """The requirements of a label selector; 400 for a text that is none."""
    return tuple(_label_requirement(part) for part in _split(text))


def _label_requirement(text: str) -> Requirement:
    if found := _SET.match(text):
        key, operator, listed = found.groups()
        values = frozenset(value.strip() for value in listed.split(","))
        _check_key(key)
        _check_values(values)
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if found := _COMPARE.match(text):
        return _comparison(*found.groups())
    if found := _EXISTS.match(text):
        absent, key = found.groups()
        _check_key(key)
        return (lambda labels: key not in labels) if absent else (lambda labels: key in labels)
    raise bad_request(f"unable to parse requirement: found '{text.strip()}', expected: a label selector")


def _comparison(key: str, operator: str, value: str) -> Requirement:
    _check_key(key)
    _check_values([value])
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if not value.lstrip("-").isdigit():
        raise bad_request(
            f'unable to parse requirement: values[0]: Invalid value: "{value}": '
            "for 'Gt', 'Lt' operators, the value must be an integer"
        )
    bound = int(value)
    if operator == ">":
        return lambda labels: _number(labels.get(key)) > bound
    return lambda labels: _number(labels.get(key)) < bound


def _number(text: str | None) -> float:
    """The label as a number; one that is none compares false with everything."""
    return int(text) if text and text.lstrip("-").isdigit() else float("nan")


def _check_key(key: str) -> None:
    if not _KEY.match(key):
        raise bad_request(
            f'unable to parse requirement: <nil>: Invalid value: "{key}": name part must consist of alphanumeric '
            "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or "
            "'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
        )


def _check_values(values: Sequence[str] | frozenset[str]) -> None:
    for value in values:
        if not _VALUE.match(value):
            raise bad_request(
                f'unable to parse requirement: values[0][]: Invalid value: "{value}": a valid label must be an empty '
                "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
                "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
                "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            )


@lru_cache(maxsize=1024)
def fields(text: str) -> tuple[tuple[str, bool, str], ...]:
    """(path, wanted, value) for every term of a field selector; 400 for a text that is none."""
    terms = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        found = re.match(r"^([^=!]+)(==|!=|=)(.*)$", part)
        if not found:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        path, operator, value = found.groups()
        terms.append((path, operator != "!=", re.sub(r"\\([\\,=])", r"\1", value)))
    return tuple(terms)


def field(obj: Object, path: str) -> str:
    """The value that a field selector compares: "" where the object has none."""
    value: object = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


@lru_cache(maxsize=1024)
def predicate(label_text: str, field_text: str) -> Predicate | None:
    """One predicate for both selectors, or None where there is nothing to ask."""
    wanted_labels, wanted_fields = labels(label_text), fields(field_text)
    if not wanted_labels and not wanted_fields:
        return None

    def matches(obj: Object) -> bool:
        found = obj.get("metadata", {}).get("labels") or {}
        return all(requirement(found) for requirement in wanted_labels) and all(
            (field(obj, path) == value) == wanted for path, wanted, value in wanted_fields
        )

    return matches
