"""Sets of field paths, kept in the very form in which `managedFields` stores them.

A set is a dictionary from a step (see pathelement) to a node. A node is a dictionary of the same kind: empty, it says
that the path to it is in the set; with steps, that paths below it are; with "." beside them, that both are. A node that
says nothing is never stored, so two sets are equal exactly when their dictionaries are.

Every function returns its result without changing its arguments. Results share nodes with the arguments, so no one may
change a set in place.
"""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from ingot.standalone.patch import pathelement

FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
# What is left of a node when another is taken away: itself when that is all, None when it is nothing.
_Without: TypeAlias = Callable[[FieldSet, FieldSet], FieldSet | None]


def of(*paths: Path) -> FieldSet:
    """The set of these paths; the empty path says nothing."""
    out: FieldSet = {}
    for path in paths:
        single: FieldSet = {}
        for step in reversed(path):
            single = {step: single}
        out = union(out, single)
    return out


def fields(*names: str) -> Path:
    """The path through fields of these names."""
    return tuple("f:" + name for name in names)


def _is_member(node: FieldSet) -> bool:
    return not node or "." in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in either."""
    if not left or not right:
        return left or right
    out = left
    for step, node in right.items():
        mine = out.get(step)
        joined = node if mine is None else _join(mine, node)
        if joined is not mine:
            if out is left:
                out = dict(left)
            out[step] = joined
    return out


def _join(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right or (not left and not right):
        return left
    if not left:
        return right if _is_member(right) else {".": {}, **right}
    if not right:
        return left if "." in left else {".": {}, **left}
    return union(left, right)


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in both."""
    if len(right) < len(left):
        left, right = right, left
    out: FieldSet = {}
    for step, node in left.items():
        other = right.get(step)
        if other is not None and (common := _meet(node, other)) is not None:
            out[step] = common
    return out


def _meet(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left or not right:
        return {} if _is_member(left) and _is_member(right) else None
    return _canonical(intersection(left, right))


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in `left` that are not in `right`; `left` itself when there is no other."""
    return _subtract(left, right, _without)


def recursive_difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """The paths in `left` that neither are in `right` nor lie below a path in `right`."""
    return _subtract(left, right, _without_below)


def _subtract(left: FieldSet, right: FieldSet, without: _Without) -> FieldSet:
    out = left
    for step, node in right.items():
        mine = left.get(step)
        if mine is None:
            continue
        rest = without(mine, node)
        if rest is mine:
            continue
        if out is left:
            out = dict(left)
        if rest is None:
            del out[step]
        else:
            out[step] = rest
    return out


def _without(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if _is_member(right) else left
    if right:
        rest = _subtract(left, right, _without)
    else:
        rest = {step: node for step, node in left.items() if step != "."} if "." in left else left
    return left if rest is left else _canonical(rest)


def _without_below(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if _is_member(right):
        return None
    rest = _subtract(left, right, _without_below)
    return left if rest is left else _canonical(rest)


def _canonical(node: FieldSet) -> FieldSet | None:
    """The one form of a node: None for one without paths, empty for one that holds only itself."""
    if not node:
        return None
    return {} if len(node) == 1 and "." in node else node


def leaves(group: FieldSet) -> FieldSet:
    """The paths below which there is no other path."""
    return {step: leaves(node) for step, node in group.items() if step != "."}


def paths(group: FieldSet) -> Iterator[Path]:
    """Every path, parents before children, in the order in which Kubernetes lists conflicts."""
    steps = sorted((step for step in group if step != "."), key=pathelement.order)
    for step in steps:
        if _is_member(group[step]):
            yield (step,)
    for step in steps:
        for rest in paths(group[step]):
            yield (step, *rest)


def path_text(path: Path) -> str:
    return "".join(map(pathelement.text, path))


def decode(raw: Any) -> FieldSet:
    """A set from outside, in its canonical form. Raises ValueError when it is none."""
    if type(raw) is not dict:
        raise ValueError("fieldsV1 must be an object")
    out: FieldSet = {}
    for spelled, node in raw.items():
        if spelled == ".":
            continue
        step = pathelement.canonical(spelled)
        if step is not None:
            out[step] = _decode_node(node)
    return out


def _decode_node(raw: Any) -> FieldSet:
    if raw is None:
        return {}
    node = decode(raw)
    return {".": {}, **node} if node and "." in raw else node
