"""From a request's body to an object of the kind that the path names."""

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError, bad_request, invalid
from ingot.standalone import generated
from ingot.standalone.builtin import schemas
from ingot.standalone.builtin.canonical import canonical
from ingot.standalone.builtin.decode import decode_error
from ingot.standalone.objects.body import Body
from ingot.standalone.objects.call import Call

_MAX_GENERATED = 63 - generated.SUFFIX


def take(call: Call, body: Body) -> Object:
    """The body as an object of the call's kind and version, defaulted; `identity` has seen that it is one.

    Unknown and duplicate fields are refused, told or dropped, as the call asks.
    """
    obj: Object = body.value
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    shape(call, obj, body.faults)
    return in_front(obj)


def shape(call: Call, obj: Object, faults: list[str]) -> None:
    """Checks the types of a Kubernetes kind, deals with the text's faults and unknown fields and fills in defaults."""
    served, definition = call.served, call.served.definition
    if fault := type_fault(call, obj):
        raise _unhandled(call, fault)
    if unknown := served.schema.unknown(obj):
        served.schema.prune(obj)
    _tell(call, faults + [f'unknown field "{path}"' for path in unknown])
    reset = obj["metadata"].get("managedFields") == []
    if definition.custom:
        canonical(schemas.resolved(schemas.OBJECT_META), obj["metadata"])
        served.schema.default(obj)
    definition.default(obj)
    if reset and not definition.custom:
        # The one form drops an empty list, but this one says that nobody manages anything any more.
        obj["metadata"]["managedFields"] = []


def type_fault(call: Call, obj: Object) -> str | None:
    """What is wrong with the types in an object; of a custom resource only in metadata, as its schema says more."""
    definition = call.served.definition
    if not definition.custom:
        return decode_error(definition, obj, call.served.version.name)
    return call.served.schema.malformed(obj)


def _unhandled(call: Call, fault: str) -> ApiError:
    kind = call.served.definition.kind
    return bad_request(f'{kind} in version "{call.served.version.name}" cannot be handled as a {kind}: {fault}')


def _tell(call: Call, faults: list[str]) -> None:
    """Refuses the faults of the body's text, or warns of them, as the call asks."""
    if not faults or call.validation == "Ignore":
        return
    if call.validation == "Warn":
        call.warnings += faults
        return
    raise _unhandled(call, f"strict decoding error: {', '.join(faults)}")


def in_front(obj: Object) -> Object:
    """The object with kind, apiVersion and metadata first: lists cut the first two off as bytes."""
    head = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": obj["metadata"]}
    head.update(obj)
    return head


def place(call: Call, obj: Object) -> None:
    """Puts the object where the path points: namespace and name must agree with the path or be absent."""
    definition, meta = call.served.definition, obj["metadata"]
    if definition.namespaced:
        if namespace_of(obj) not in ("", call.namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = call.namespace
    else:
        meta.pop("namespace", None)
    if call.name:
        if not name_of(obj):
            raise bad_request(
                f"the name of the object ({call.name} based on URL) was undeterminable: name must be provided"
            )
        if name_of(obj) != call.name:
            raise bad_request(
                f"the name of the object ({name_of(obj)}) does not match the name on the URL ({call.name})"
            )


def manage(obj: Object, managed: list[Object]) -> None:
    """Gives the object its managed fields, or takes away what the request said of them."""
    if managed:
        obj["metadata"]["managedFields"] = managed
    else:
        obj["metadata"].pop("managedFields", None)


def wipe(obj: Object) -> None:
    """Takes away what only the server may say of a new object."""
    for key in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation", "uid"):
        obj["metadata"].pop(key, None)


def baptize(obj: Object) -> None:
    """Gives a name to an object that has none but a generateName, and what every new object has."""
    meta = obj["metadata"]
    if not meta.get("name") and (prefix := meta.get("generateName")):
        meta["name"] = prefix[:_MAX_GENERATED] + generated.suffix()
    meta["uid"] = generated.uid()


def check(call: Call, obj: Object, old: Object | None) -> None:
    """Raises 422 with everything that is wrong with the object."""
    definition = call.served.definition
    causes = call.served.check(obj, old, call.subresource)
    if causes:
        # Where two groups serve one collection, it is told by the name of that.
        group = (definition.storage_key or definition.key).partition(".")[2]
        raise invalid(group, definition.kind, name_of(obj), causes)
