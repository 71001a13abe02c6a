"""The grammar of label selectors: a text becomes requirements, or a refusal in Kubernetes' words."""

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

from ingot.api.status import bad_request
from ingot.standalone.builtin import names
from ingot.standalone.goprint import quote

Requirement = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+|$)")
_SPECIAL = ("==", "!=", "=", "!", "<", ">", "(", ")", ",", "")
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_PREFIX = "unable to parse requirement: "


def parse(text: str) -> tuple[Requirement, ...]:
    """The requirements of a label selector; 400 for a text that is none."""
    return _Parser(text).requirements()


class _Parser:
    """Reads the text once, token by token; "" is its end."""

    def __init__(self, text: str) -> None:
        self._tokens = [found[1] for found in _TOKEN.finditer(text)]
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[min(self._at, len(self._tokens) - 1)]

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def requirements(self) -> tuple[Requirement, ...]:
        made: list[Requirement] = []
        while self._peek():
            if self._peek() in _SPECIAL and self._peek() != "!":
                _refuse(f"found '{self._peek()}', expected: !, identifier, or 'end of string'")
            made.append(self._requirement())
            if self._peek() == ",":
                self._take()
                if self._peek() in _SPECIAL and self._peek() != "!":
                    _refuse(f"found '{self._peek()}', expected: identifier after ','")
            elif self._peek():
                _refuse(f"found '{self._peek()}', expected: ',' or 'end of string'")
        return tuple(made)

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if key in _SPECIAL:
            _refuse(f"{_PREFIX}found '{key}', expected: identifier")
        _check_key(key)
        if self._peek() in ("", ","):
            return (lambda labels: key not in labels) if absent else (lambda labels: key in labels)
        operator = self._take()
        if absent or operator not in ("in", "notin", "=", "==", "!=", "<", ">"):
            _refuse(f"{_PREFIX}found '{operator}', expected: {'' if absent else _OPERATORS}")
        if operator in ("in", "notin"):
            return self._membership(key, operator)
        value = self._take() if self._peek() not in _SPECIAL else ""
        _check_values([value])
        return _comparison(key, operator, value)

    def _membership(self, key: str, operator: str) -> Requirement:
        if self._take() != "(":
            self._at -= 1
            _refuse(f"{_PREFIX}found '{self._peek()}' expected: '('")
        values = self._values()
        _check_values(sorted(values))
        if operator == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values

    def _values(self) -> frozenset[str]:
        values: set[str] = set()
        empty = True
        while True:
            found = self._take()
            if found == ")":
                return frozenset(values | {""} if empty else values)
            if found == ",":
                values |= {""} if empty else set()
                empty = True
            elif found in _SPECIAL:
                _refuse(f"{_PREFIX}found '{found}', expected: ',', ')' or identifier")
            else:
                values.add(found)
                empty = False


def _comparison(key: str, operator: str, value: str) -> Requirement:
    if operator in ("=", "=="):
        return lambda labels: labels.get(key) == value
    if operator == "!=":
        return lambda labels: labels.get(key) != value
    if not value.lstrip("-").isdigit():
        why = "for 'Gt', 'Lt' operators, the value must be an integer"
        _refuse(f"{_PREFIX}values[0]: Invalid value: {quote(value)}: {why}")
    bound = int(value)
    if operator == ">":
        return lambda labels: _number(labels.get(key)) > bound
    return lambda labels: _number(labels.get(key)) < bound


def _number(text: str | None) -> float:
    """The label as a number; one that is none compares false with everything."""
    return int(text) if text and text.lstrip("-").isdigit() else float("nan")


def _check_key(key: str) -> None:
    for fault in names.qualified(key):
        _refuse(f"{_PREFIX}key: Invalid value: {quote(key)}: {fault}")


def _check_values(values: list[str]) -> None:
    for index, value in enumerate(values):
        for fault in names.label_value(value):
            _refuse(f"{_PREFIX}values[{index}][]: Invalid value: {quote(value)}: {fault}")


def _refuse(message: str) -> NoReturn:
    raise bad_request(message)
