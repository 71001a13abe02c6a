"""Defaults of types, filled into plain dictionaries: for objects that were converted after their schema was asked."""

from collections.abc import Callable
from copy import deepcopy
from functools import cache
from typing import Any, get_args, get_origin

import msgspec
from msgspec import UNSET

from ingot.api.machinery.schema import members, peel
from ingot.api.machinery.shape import Shape

Filler = Callable[[Any], None]


def fill(shape: type[Shape], obj: Any) -> None:
    """Adds what is absent and has a default, in place and at every depth; values of a wrong type are passed over."""
    filler = _filler(shape)
    if filler is not None:
        filler(obj)


@cache
def _filler(hint: Any) -> Filler | None:
    """The function that fills a value of a type; None for a type without defaults anywhere below."""
    bare, _ = peel(hint)
    origin, arguments = get_origin(bare), get_args(bare)
    if isinstance(bare, type) and issubclass(bare, Shape):
        return _shape_filler(bare)
    if origin in (list, dict):
        below = _filler(arguments[-1])
        return None if below is None else _collection_filler(below)
    return None


def _shape_filler(shape: type[Shape]) -> Filler | None:
    defaults = []
    fillers = []
    for name, hint, default, _ in members(shape):
        if default is not UNSET:
            defaults.append((name, msgspec.to_builtins(default)))
        below = _filler(hint)
        if below is not None:
            fillers.append((name, below))
    if not defaults and not fillers:
        return None

    def fill_shape(obj: Any) -> None:
        if isinstance(obj, dict):
            for name, default in defaults:
                if name not in obj:
                    obj[name] = deepcopy(default)
            for name, below in fillers:
                if name in obj:
                    below(obj[name])

    return fill_shape


def _collection_filler(below: Filler) -> Filler:
    def fill_all(values: Any) -> None:
        if isinstance(values, list):
            for value in values:
                below(value)
        elif isinstance(values, dict):
            for value in values.values():
                below(value)

    return fill_all
