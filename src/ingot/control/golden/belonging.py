"""What an SSP has made: by owner reference in its own namespace, by annotations elsewhere (G4).

A garbage collector takes an owner in another namespace for missing and deletes what it owns, so that there the
annotations of the operator framework stand in for the reference, and the SSP's finalizer for the collector.
"""

from collections.abc import Iterable
from typing import Final

from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.resources import SSPS
from ingot.control.golden.owners import is_owner, own
from ingot.control.owning import disown
from ingot.kube.cache import Key, key_of
from ingot.kube.objects import controller_of, refers_to_kind

PRIMARY: Final = "operator-sdk/primary-resource"
PRIMARY_TYPE: Final = "operator-sdk/primary-resource-type"
_TYPE: Final = f"{SSPS.kind}.{SSPS.group}"
# As the operator of common templates labels what it keeps.
LABELS: Final = {
    "app.kubernetes.io/name": "data-sources",
    "app.kubernetes.io/component": "templating",
    "app.kubernetes.io/managed-by": "ssp-operator",
}


def take(obj: Object, ssp: Object, *, made: bool) -> None:
    """Make it the SSP's too, by the seed's rule: only who has `made` an object is its controller.

    A reference that is there stays as it is, whoever else owns the object.
    """
    metadata = obj["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), **LABELS}
    if namespace_of(obj) != namespace_of(ssp):
        marks = {PRIMARY: str(key_of(ssp)), PRIMARY_TYPE: _TYPE}
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
        return
    own(obj, ssp, maker=made and controller_of(obj) is None)


def let_go(obj: Object, ssp: Object) -> None:
    """Make it the SSP's no longer."""
    metadata = obj["metadata"]
    if _marked(obj) == key_of(ssp):
        kept = metadata["annotations"].items()
        metadata["annotations"] = {key: value for key, value in kept if key not in (PRIMARY, PRIMARY_TYPE)}
    if is_owner(obj, ssp):
        disown(obj, ssp)
    labels = metadata.get("labels") or {}
    metadata["labels"] = {key: value for key, value in labels.items() if LABELS.get(key) != value}


def is_of(obj: Object, ssp: Object) -> bool:
    return _marked(obj) == key_of(ssp) or is_owner(obj, ssp)


def others(obj: Object, owner: Object) -> list[Object]:
    """The owners that it has beside this one."""
    references = obj["metadata"].get("ownerReferences") or ()
    return [each for each in references if each.get("uid") != uid_of(owner)]


def owners(obj: Object) -> Iterable[Key]:
    """The SSPs that are to be woken when it changes."""
    if marked := _marked(obj):
        yield marked
    for each in obj["metadata"].get("ownerReferences") or ():
        if refers_to_kind(each, SSPS.group, SSPS.kind):
            yield Key(namespace_of(obj), each["name"])


def _marked(obj: Object) -> Key | None:
    notes = obj["metadata"].get("annotations") or {}
    namespace, slash, name = notes.get(PRIMARY, "").partition("/")
    return Key(namespace, name) if slash and notes.get(PRIMARY_TYPE) == _TYPE else None
