"""Patching an object, in the four ways of the API."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import ApiError, bad_request, invalid, not_found, unsupported_media_type
from ingot.standalone import fields, goprint
from ingot.standalone.goprint import json_type
from ingot.standalone.jsontext import encode
from ingot.standalone.objects import creator, identity, intake, updater
from ingot.standalone.objects.body import Body, Unreadable, decode
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import World
from ingot.standalone.patch import apply, json_patch, merge_patch, strategic

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


async def patch(world: World, call: Call, media: str, raw: bytes) -> tuple[Object, bool]:
    """Applies the patch. Returns the result and whether it was created, which only server-side apply does."""
    media = media.partition(";")[0].strip()
    if media == APPLY:
        return await _apply(world, call, _read(raw, APPLY))
    if media not in (JSON_PATCH, MERGE_PATCH, STRATEGIC) or (media == STRATEGIC and call.served.definition.custom):
        raise _unsupported(call)
    if "force" in call.query:
        cause = fields.forbidden("force", "may not be specified for non-apply patch")
        raise invalid("meta.k8s.io", "PatchOptions", "", [cause])
    body = _read(raw, media)
    faults = [f"json patch {fault}" for fault in body.faults] if media == JSON_PATCH else body.faults

    def make(old: Object) -> Object:
        new: Object = _patched(call, media, old, body.value)
        if fault := _fault(call, new, faults):
            shown = goprint.plain(body.value) if media == STRATEGIC else encode(new).decode()
            raise invalid("", "", "", [fields.invalid("patch", shown, fault)])
        intake.place(call, new)
        intake.shape(call, new, faults)
        return new

    return await updater.change(world, call, make), False


def _read(raw: bytes, media: str) -> Body:
    """The patch itself, decoded."""
    try:
        return decode(raw, APPLY if media == APPLY else "application/json")
    except Unreadable as error:
        # Each kind of patch is read by another part of kube-apiserver.
        prefix = {APPLY: "error decoding YAML: ", STRATEGIC: ""}.get(media, "error decoding patch: ")
        raise bad_request(prefix + error.fault) from error


def _fault(call: Call, new: Any, faults: list[str]) -> str | None:
    """What is wrong with a patch's result as such: another kind, a wrong type, an odd field where that matters."""
    if fault := identity.patched(call, new):
        return fault
    if new.get("metadata") is None:
        new["metadata"] = {}
    if wrong := intake.type_fault(call, new):
        return wrong
    if call.validation != "Strict":
        return None
    odd = faults + [f'unknown field "{path}"' for path in call.served.schema.unknown(new)]
    return f"strict decoding error: {', '.join(odd)}" if odd else None


def _patched(call: Call, media: str, old: Object, patch_value: Any) -> Any:
    if media == JSON_PATCH:
        return json_patch.apply(old, patch_value)
    if media == MERGE_PATCH:
        return merge_patch.apply(old, patch_value)
    # This kind of patch works on Go's structures, of which kind and version are no fields.
    kept = {"kind": old["kind"], "apiVersion": old["apiVersion"]}
    return {**strategic.apply(old, patch_value, call.served.typed), **kept}


async def _apply(world: World, call: Call, body: Body) -> tuple[Object, bool]:
    served, definition = call.served, call.served.definition
    if not call.query.get("fieldManager"):
        cause = fields.required("fieldManager", "is required for apply patch")
        raise invalid("meta.k8s.io", "PatchOptions", "", [cause])
    if not isinstance(body.value, dict):
        why = f"json: cannot unmarshal {json_type(body.value)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
    applied = body.value
    if isinstance(applied.get("metadata"), dict) and applied["metadata"].get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")

    def merged(live: Object | None) -> Object:
        managed = served.fields(call.subresource)
        made = apply.server_side(managed, live, applied, call.manager, call.force, call.timestamp)
        intake.shape(call, made, body.faults)
        return made

    if world.store.latest(definition.key, call.namespace, call.name) is None:
        if call.subresource:
            raise not_found(definition.group, definition.plural, call.name)
        if applied.get("metadata", {}).get("resourceVersion"):
            raise not_found(definition.group, definition.plural, call.name)
        made = merged(None)
        intake.place(call, made)
        return await creator.insert(world, call, made, made["metadata"].get("managedFields")), True
    return await updater.change(world, call, merged, apply=True), False


def _unsupported(call: Call) -> ApiError:
    if not call.served.definition.custom:
        # On Kubernetes' own paths another part refuses it, which does not say what would do.
        return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        f"{JSON_PATCH}, {MERGE_PATCH}, {APPLY}"
    )
