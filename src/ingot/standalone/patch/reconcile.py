"""Field sets and types: what must change in a set when it is read with a type that it was not written with."""

from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.types import Type


def reconcile(of: Type, owned: FieldSet) -> FieldSet:
    """The set with each list and map that is now atomic owned as a whole; `owned` itself when nothing changed.

    A type that turned from atomic to granular changes nothing: its owner goes on owning the place and no item.
    """
    out = owned
    for step, node in owned.items():
        if not node:
            continue
        inner = _type_below(of, step)
        if inner is None or not inner.atomics:
            continue
        mended = {} if _is_atomic(inner) else reconcile(inner, node)
        if mended is not node:
            if out is owned:
                out = dict(owned)
            out[step] = mended
    return out


def with_named_fields(of: Type | None, owned: FieldSet) -> FieldSet:
    """The set, and with it every named field of a struct that has a path below; but no key of a map, no item."""
    out: FieldSet = {}
    for step, node in owned.items():
        if not node:
            out[step] = node
            continue
        mended = with_named_fields(_type_below(of, step) if of is not None else None, node)
        named = of is not None and of.map is not None and step[:2] == "f:" and step[2:] in of.map.fields
        out[step] = {".": {}, **mended} if named and "." not in mended else mended
    return out


def _is_atomic(of: Type) -> bool:
    if of.map is not None:
        return of.map.atomic
    return not of.scalar and of.list is not None and of.list.atomic


def _type_below(of: Type, step: str) -> Type | None:
    if step[:2] == "f:":
        if of.map is None:
            return None
        known = of.map.fields.get(step[2:])
        return known[1] if known is not None else of.map.element
    return of.list.element if of.list is not None else None
