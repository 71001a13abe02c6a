"""What a prime is filled with, in a word: noted when it is made, so that a source that was made anew is seen."""

import hashlib

import msgspec

from ingot.api.cdi.names import MADE_FROM, SOURCE_NAMESPACE
from ingot.api.object import Object
from ingot.control.volumes.marks import annotation

_DIGITS = 16


def recipe_of(source: Object) -> str:
    """A digest of what a source says, and nothing of which object says it: one that is made again, the same, has the
    same."""
    said = [source["kind"], source["spec"], annotation(source, SOURCE_NAMESPACE)]
    return hashlib.sha256(msgspec.json.encode(said, order="sorted")).hexdigest()[:_DIGITS]


def note(obj: Object, source: Object) -> None:
    """Have what is made for a target tell what it is made from."""
    obj["metadata"].setdefault("annotations", {})[MADE_FROM] = recipe_of(source)


def is_noted(obj: Object) -> bool:
    """Whether it tells what it was made from: what older versions made does not."""
    return bool(annotation(obj, MADE_FROM))


def fits(obj: Object, source: Object) -> bool:
    """Whether it was made from what the source says now, as far as it tells."""
    return annotation(obj, MADE_FROM) in ("", recipe_of(source))
