"""What must hold for every object's metadata, on create and on update.

Custom resources use `validate` with `kubernetes=False`; Kubernetes' own kinds through `kinds.kind.define`.
"""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.names import Rule
from ingot.standalone.goprint import strings

ANNOTATIONS_LIMIT = 256 * 1024
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
# What never changes, with what its absence is printed as.
_FROZEN = {
    "name": "",
    "namespace": "",
    "uid": "",
    "creationTimestamp": None,
    "deletionTimestamp": None,
    "deletionGracePeriodSeconds": None,
}


def validate(
    new: Object, old: Object | None, namespaced: bool, rule: Rule = names.subdomain, kubernetes: bool = True
) -> list[Cause]:
    """Everything that is wrong with the metadata; `rule` is what the kind asks of a name.

    `kubernetes` adds what Kubernetes asks of its own kinds only: finalizers with a domain.
    The name, uid and timestamps are expected to be filled in already.
    """
    metadata = new.get("metadata") or {}
    if old is None:
        causes = on_create(metadata, namespaced, rule)
    else:
        # A name that was accepted once stays acceptable, even where the kind's rule has become stricter.
        causes = on_create(metadata, namespaced, names.path_segment)
        causes += on_update(metadata, old.get("metadata") or {})
    if kubernetes:
        for index, name in enumerate(metadata.get("finalizers") or ()):
            causes += standard_finalizer(f"metadata.finalizers[{index}]", name)
    return list(dict.fromkeys(causes))


def on_create(metadata: Object, namespaced: bool, rule: Rule) -> list[Cause]:
    causes = _names(metadata, namespaced, rule)
    causes += fields.not_negative("metadata.generation", metadata.get("generation", 0))
    if labels := metadata.get("labels"):
        causes += label_causes("metadata.labels", labels)
    if annotations := metadata.get("annotations"):
        causes += annotation_causes("metadata.annotations", annotations)
    if owners := metadata.get("ownerReferences"):
        causes += _owner_references(owners)
    if finalizers := metadata.get("finalizers"):
        causes += _finalizers(finalizers)
    if managed := metadata.get("managedFields"):
        causes += _managed_fields(managed)
    return causes


def on_update(metadata: Object, old: Object) -> list[Cause]:
    """What an update may not do to metadata; labels and the like are checked by `on_create`."""
    causes = []
    if old.get("deletionTimestamp"):
        added = sorted(set(metadata.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            why = "no new finalizers can be added if the object is being deleted, found new finalizers "
            causes.append(fields.forbidden("metadata.finalizers", why + strings(added)))
    if not metadata.get("resourceVersion"):
        causes.append(fields.invalid("metadata.resourceVersion", "", "must be specified for an update"))
    if metadata.get("generation", 0) < old.get("generation", 0):
        causes.append(fields.invalid("metadata.generation", metadata.get("generation", 0), "must not be decremented"))
    changed = [key for key in _FROZEN if metadata.get(key) != old.get(key)]
    causes += [fields.immutable(f"metadata.{key}", metadata.get(key, _FROZEN[key])) for key in changed]
    return causes


def _names(metadata: Object, namespaced: bool, rule: Rule) -> list[Cause]:
    causes = []
    if prefix := metadata.get("generateName"):
        faults = names.prefix(rule, prefix)
        causes += [fields.invalid("metadata.generateName", prefix, fault) for fault in faults]
    if name := metadata.get("name"):
        causes += fields.checked("metadata.name", name, rule)
    else:
        causes.append(fields.required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace")
    if namespaced and not namespace:
        causes.append(fields.required("metadata.namespace"))
    elif namespaced:
        causes += fields.checked("metadata.namespace", str(namespace), names.label)
    elif namespace:
        causes.append(fields.forbidden("metadata.namespace", "not allowed on this type"))
    return causes


def label_causes(field: str, labels: dict[str, str]) -> list[Cause]:
    """What is wrong with a set of labels, or with a selector's matchLabels."""
    causes = []
    for key, value in labels.items():
        causes += fields.checked(field, key, names.qualified)
        causes += fields.checked(field, value, names.label_value)
    return causes


def annotation_causes(field: str, annotations: dict[str, str]) -> list[Cause]:
    causes = []
    size = 0
    for key, value in annotations.items():
        # Only in a label's key does case matter.
        causes += [fields.invalid(field, key, fault) for fault in names.qualified(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        causes.append(fields.too_long(field, ANNOTATIONS_LIMIT))
    return causes


def _owner_references(references: list[Object]) -> list[Cause]:
    path = "metadata.ownerReferences"
    causes = []
    controller = ""
    for reference in references:
        version = str(reference.get("apiVersion", "")).rpartition("/")[2]
        for key, value in (
            ("apiVersion", version),
            ("kind", reference.get("kind")),
            ("name", reference.get("name")),
            ("uid", reference.get("uid")),
        ):
            if not value:
                why = f"{'version' if key == 'apiVersion' else key} must not be empty"
                causes.append(fields.invalid(f"{path}.{key}", reference.get(key, ""), why))
        if reference.get("apiVersion") == "v1" and reference.get("kind") == "Event":
            causes.append(_refused(path, [reference], "/v1, Kind=Event is disallowed from being an owner"))
        if reference.get("controller"):
            this = f"{reference.get('kind', '')}/{reference.get('name', '')}"
            if controller:
                why = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controller} and {this}'
                )
                causes.append(_refused(path, references, why))
            controller = controller or this
    return causes


def _refused(field: str, references: list[Object], why: str) -> Cause:
    """Kubernetes prints the references as Go structs with addresses of memory; names say more."""
    listed = ", ".join(f"{ref.get('kind', '')}/{ref.get('name', '')}" for ref in references)
    return fields.invalid(field, listed, why)


def _finalizers(finalizers: list[str]) -> list[Cause]:
    path = "metadata.finalizers"
    causes = [cause for name in finalizers for cause in fields.checked(path, name, names.qualified)]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.append(fields.invalid(path, strings(finalizers), why))
    return causes


def standard_finalizer(field: str, name: str) -> list[Cause]:
    """What Kubernetes asks of finalizers of its own kinds: a domain, unless they are its own."""
    if "/" in name or name in _STANDARD_FINALIZERS:
        return []
    return [fields.invalid(field, name, "name is neither a standard finalizer name nor is it fully qualified")]


def _managed_fields(entries: list[Object]) -> list[Cause]:
    causes = []
    for index, entry in enumerate(entries):
        path = f"metadata.managedFields[{index}]"
        if entry.get("operation") not in ("Apply", "Update"):
            causes.append(
                fields.invalid(f"{path}.operation", entry.get("operation", ""), "must be `Apply` or `Update`")
            )
        if entry.get("fieldsType", "FieldsV1") not in ("", "FieldsV1"):
            causes.append(fields.invalid(f"{path}.fieldsType", entry["fieldsType"], "must be `FieldsV1`"))
        causes += manager_causes(f"{path}.manager", entry.get("manager", ""))
        if len(entry.get("subresource", "")) > 256:
            causes.append(fields.too_long(f"{path}.subresource", 256))
    return causes


def manager_causes(field: str, manager: str) -> list[Cause]:
    """What is wrong with the name of a field manager, in an object or in a request's `fieldManager`."""
    causes = [fields.too_long(field, 128)] if len(manager.encode()) > 128 else []
    if manager.isprintable():
        return causes
    position = 0
    for char in manager:
        if not char.isprintable():
            why = f"invalid character U+{ord(char):04X} (at position {position})"
            causes.append(fields.invalid(field, manager, why))
        position += len(char.encode())
    return causes
