"""The patches of a restore: which changes to a machine may come with it.

The machine is written in Ingot's own name, so that a patch must not bring what the one who asks might not write.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ingot.api.object import Object
from ingot.api.status import Cause

OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")

_BELOW: Final = ("/spec/", "/metadata/labels/", "/metadata/annotations/")
# A file of the node and a volume of another namespace: each asks for a right of its own when a machine is written.
_ASKING: Final = ("hostDisk", "dataVolumeTemplates")


def patch_faults(patches: Sequence[str], path: str) -> Iterator[Cause]:
    """The faults of JSON patches, each the text of one operation, that lie at `path`."""
    for number, text in enumerate(patches):
        why = _fault(text)
        if why:
            shown = json.dumps(text, ensure_ascii=False)
            yield Cause(f"{path}[{number}]", f"Invalid value: {shown}: {why}", "FieldValueInvalid")


def _fault(text: str) -> str:
    try:
        patch = json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}"
    if not isinstance(patch, dict) or patch.get("op") not in OPERATIONS:
        return f"one operation of a JSON patch is expected, an object with op: one of {', '.join(OPERATIONS)}"
    places = [key for key in ("path", "from") if key == "path" or key in patch]
    for key in places:
        if not str(patch.get(key, "")).startswith(_BELOW):
            return f"{key}: only what is below {' or '.join(_BELOW)} can be changed"
    asking = next((word for word in _ASKING if _mentions(patch, places, word)), "")
    if asking:
        return f"{asking} cannot come with a restore: restore the machine first, then change it"
    return ""


def _mentions(patch: Object, places: list[str], word: str) -> bool:
    return any(word in str(patch[place]).split("/") for place in places) or _has_key(patch.get("value"), word)


def _has_key(value: Any, word: str) -> bool:
    if isinstance(value, dict):
        return word in value or any(_has_key(each, word) for each in value.values())
    return isinstance(value, list) and any(_has_key(each, word) for each in value)
