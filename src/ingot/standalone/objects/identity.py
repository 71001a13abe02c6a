"""What a body says it is, and whether the path serves that: told in the words of Kubernetes' decoder."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import ApiError, Cause, bad_request, invalid
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.objects.body import Body, Unreadable, decode
from ingot.standalone.objects.call import Call
from ingot.standalone.patch.values import json_type

_SUMMARY = 30
# Where Go's registry of kinds is made: its name, which it tells to everybody.
_SCHEME = '"pkg/runtime/scheme.go:100"'
TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_KNOWN = {
    (definition.api_version(version), definition.kind) for definition in DEFINITIONS for version in definition.versions
}


def read(call: Call, raw: bytes, media: str) -> Body:
    """The body of a create or an update, decoded: an object of the kind that the path names, or it is refused."""
    try:
        body = decode(raw, media)
    except Unreadable as error:
        raise _unrecognized(call, f"couldn't get version/kind; json parse error: {error.fault}", raw) from error
    if body.value is None:
        body.value = {}
    identify(call, body)
    return body


def identify(call: Call, body: Body) -> None:
    """Gives a body that does not say so its kind and version; refuses any other."""
    _check_names(call, body)
    if call.served.definition.custom:
        _identify_custom(call, body)
    else:
        _identify_kubernetes(call, body)


def _check_names(call: Call, body: Body) -> None:
    fault = ""
    if not isinstance(body.value, dict):
        fault = f"json: cannot unmarshal {json_type(body.value)} into Go value of type {TYPE_META}"
    else:
        for name in ("apiVersion", "kind"):
            value = body.value.get(name)
            if value is not None and not isinstance(value, str):
                fault = f"json: cannot unmarshal {json_type(value)} into Go struct field .{name} of type string"
    if fault:
        raise _unrecognized(call, f"couldn't get version/kind; json parse error: {fault}", body.raw)


def _identify_kubernetes(call: Call, body: Body) -> None:
    served, definition, obj = call.served, call.served.definition, body.value
    obj["apiVersion"] = obj.get("apiVersion") or served.api_version
    obj["kind"] = obj.get("kind") or definition.kind
    told = (obj["apiVersion"], obj["kind"])
    if told == (served.api_version, definition.kind):
        return
    if obj["apiVersion"].count("/") > 1:
        raise _unrecognized(call, f"unexpected GroupVersion string: {obj['apiVersion']}", body.raw)
    version = obj["apiVersion"].rpartition("/")[2]
    if told in _KNOWN:
        package = definition.group.partition(".")[0] or "core"
        why = f"converting ({version}.{obj['kind']}) to ({package}.{definition.kind}): unknown conversion"
    else:
        why = f'no kind "{obj["kind"]}" is registered for version "{obj["apiVersion"]}" in scheme {_SCHEME}'
    raise bad_request(f'{obj["kind"]} in version "{version}" cannot be handled as a {definition.kind}: {why}')


def _identify_custom(call: Call, body: Body) -> None:
    served, definition, obj = call.served, call.served.definition, body.value
    if not obj.get("kind"):
        raise _unrecognized(call, f"Object 'Kind' is missing in '{_text(body.raw)}'", body.raw)
    if obj.get("apiVersion") != served.api_version:
        told = f"the API version in the data ({obj.get('apiVersion') or ''})"
        raise bad_request(f"{told} does not match the expected API version ({served.api_version})")
    if obj["kind"] != definition.kind:
        cause = Cause("kind", f'Invalid value: "{obj["kind"]}": must be {definition.kind}')
        raise invalid(definition.group, obj["kind"], _name(obj), [cause])


def _unrecognized(call: Call, why: str, raw: bytes) -> ApiError:
    kind = call.served.definition.kind
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({_summary(raw)})")


def _summary(raw: bytes) -> str:
    """The beginning of a body: as text if it looks like JSON, else in hexadecimal."""
    if not raw:
        return "<empty>"
    start, rest = raw[:_SUMMARY], " ..." if len(raw) > _SUMMARY else ""
    return (_text(start) if raw.startswith(b"{") else start.hex()) + rest


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace-bytes")


def _name(obj: Object) -> str:
    meta: Any = obj.get("metadata")
    return str(meta.get("name", "")) if isinstance(meta, dict) else ""
