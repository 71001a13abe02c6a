"""The annotation in which client-side `kubectl apply` keeps what it applied last.

An object that kubectl has managed on the client side may be taken over by server-side apply under the manager name
`kubectl` without conflicts, and keeps an up-to-date annotation, so that going back works as well.
"""

from typing import Final

import msgspec

from ingot.api.object import Object
from ingot.standalone.patch import fieldset
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.patch.managers import FieldManager, without_entries
from ingot.standalone.patch.types import TypedError
from ingot.standalone.patch.values import escaped

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
MANAGER: Final = "kubectl"
_MAX_ANNOTATIONS: Final = 256 * 1024


def uncontested(fields: FieldManager, live: Object) -> FieldSet:
    """The fields that were applied from the client and still have the value that was applied; empty when unknown."""
    text = _annotations(live).get(ANNOTATION)
    if not text:
        return {}
    try:
        applied = msgspec.json.decode(text, type=Object)
        if applied.get("apiVersion") != fields.api_version:
            return {}
        fields.schema.validate(applied)
        compared = fields.schema.compare(applied, without_entries(fields.view(live, fields.api_version)))
        owned = fields.schema.members(applied)
    except (msgspec.DecodeError, TypedError):
        return {}
    return fieldset.difference(fieldset.difference(owned, compared.changed), compared.removed)


def renewed(obj: Object, applied: Object) -> Object:
    """The object with its annotation, if it has one, set to what is applied now."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    text = _encoded(applied)
    kept = {name: value for name, value in annotations.items() if name != ANNOTATION}
    size = sum(len(name.encode()) + len(value.encode()) for name, value in kept.items())
    if size + len(ANNOTATION) + len(text.encode()) <= _MAX_ANNOTATIONS:
        kept[ANNOTATION] = text
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}


def _encoded(applied: Object) -> str:
    metadata = applied.get("metadata") or {}
    if ANNOTATION in (metadata.get("annotations") or {}):
        others = {name: value for name, value in metadata["annotations"].items() if name != ANNOTATION}
        applied = {**applied, "metadata": {**metadata, "annotations": others}}
    return escaped(msgspec.json.encode(applied, order="sorted").decode()) + "\n"


def _annotations(obj: Object) -> dict[str, str]:
    return obj.get("metadata", {}).get("annotations") or {}
