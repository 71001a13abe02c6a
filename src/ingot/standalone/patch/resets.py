"""Fields that a request cannot change, because the server puts them back; so no one comes to own them by trying."""

from typing import Final

from ingot.standalone.patch import fieldset
from ingot.standalone.patch.fieldset import FieldSet
from ingot.standalone.resources.definition import Definition

_STATUS: Final = fieldset.of(fieldset.fields("status"))
_SPEC: Final = fieldset.of(fieldset.fields("spec"))

# What the writer of a status cannot change beside the spec, for the kinds where that is not just the spec.
_BESIDE_STATUS: Final = {
    "pods": fieldset.of(
        fieldset.fields("metadata", "deletionTimestamp"), fieldset.fields("metadata", "ownerReferences")
    ),
    "deployments.apps": fieldset.of(fieldset.fields("metadata", "labels")),
    "customresourcedefinitions.apiextensions.k8s.io": fieldset.of(fieldset.fields("metadata")),
    "volumeattachments.storage.k8s.io": fieldset.of(fieldset.fields("metadata")),
}


def of(definition: Definition, subresource: str) -> FieldSet:
    """What requests for this subresource ("": the object itself) of a kind cannot change."""
    if "status" not in definition.subresources:
        return {}
    if subresource == "status":
        return fieldset.union(_SPEC, _BESIDE_STATUS.get(definition.key, {}))
    return {} if subresource == "scale" else _STATUS
