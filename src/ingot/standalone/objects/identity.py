"""What a body says it is, and whether the path serves that: told in the words of Kubernetes' decoder."""

from typing import Any

from ingot.api.object import Object, split_api_version
from ingot.api.status import ApiError, Cause, bad_request, invalid
from ingot.standalone import fields
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.goprint import json_type
from ingot.standalone.jsontext import encode
from ingot.standalone.objects.body import Body, Unreadable, decode
from ingot.standalone.objects.call import Call

_SUMMARY = 30
# Where Go's registry of kinds is made: its name, which it tells to everybody.
_SCHEME = '"pkg/runtime/scheme.go:100"'
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
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
    if fault := names_fault(body.value):
        raise _unrecognized(call, fault, body.raw)
    if call.served.definition.custom:
        _identify_custom(call, body)
    else:
        _identify_kubernetes(call, body)


def patched(call: Call, value: Any) -> str:
    """What keeps a patch's result from being an object of the call's kind; "" where nothing does.

    Raises 422 for a custom resource that a patch makes into another.
    """
    if fault := names_fault(value):
        return fault
    served, definition = call.served, call.served.definition
    if not definition.custom:
        return _kind_fault(call, value)
    if not value.get("kind"):
        return f"Object 'Kind' is missing in '{encode(value).decode()}'"
    wanted = (("kind", definition.kind), ("apiVersion", served.api_version))
    causes = [_must_be(value, name, right) for name, right in wanted if value.get(name) != right]
    if causes:
        raise invalid(split_api_version(value.get("apiVersion") or "")[0], value["kind"], _name(value), causes)
    return ""


def names_fault(value: Any) -> str:
    """What is wrong with the types of kind and version."""
    fault = ""
    if not isinstance(value, dict):
        fault = f"json: cannot unmarshal {json_type(value)} into Go value of type {_TYPE_META}"
    else:
        for name in ("apiVersion", "kind"):
            told = value.get(name)
            if told is not None and not isinstance(told, str):
                fault = f"json: cannot unmarshal {json_type(told)} into Go struct field .{name} of type string"
    return fault and f"couldn't get version/kind; json parse error: {fault}"


def _kind_fault(call: Call, obj: Object) -> str:
    """Gives an object that does not say so its kind and version; tells why any other cannot be of this kind."""
    served, definition = call.served, call.served.definition
    obj["apiVersion"] = obj.get("apiVersion") or served.api_version
    obj["kind"] = obj.get("kind") or definition.kind
    told = (obj["apiVersion"], obj["kind"])
    if told == (served.api_version, definition.kind):
        return ""
    if obj["apiVersion"].count("/") > 1:
        return f"unexpected GroupVersion string: {obj['apiVersion']}"
    if told in _KNOWN:
        version, package = obj["apiVersion"].rpartition("/")[2], definition.group.partition(".")[0] or "core"
        return f"converting ({version}.{obj['kind']}) to ({package}.{definition.kind}): unknown conversion"
    return unregistered(obj["kind"], obj["apiVersion"])


def unregistered(kind: str, api_version: str) -> str:
    return f'no kind "{kind}" is registered for version "{api_version}" in scheme {_SCHEME}'


def _identify_kubernetes(call: Call, body: Body) -> None:
    obj = body.value
    fault = _kind_fault(call, obj)
    if not fault:
        return
    if obj["apiVersion"].count("/") > 1:
        raise _unrecognized(call, fault, body.raw)
    version, kind = obj["apiVersion"].rpartition("/")[2], call.served.definition.kind
    raise bad_request(f'{obj["kind"]} in version "{version}" cannot be handled as a {kind}: {fault}')


def _identify_custom(call: Call, body: Body) -> None:
    served, definition, obj = call.served, call.served.definition, body.value
    if not obj.get("kind"):
        raise _unrecognized(call, f"Object 'Kind' is missing in '{_text(body.raw)}'", body.raw)
    if obj.get("apiVersion") != served.api_version:
        told = f"the API version in the data ({obj.get('apiVersion') or ''})"
        raise bad_request(f"{told} does not match the expected API version ({served.api_version})")
    if obj["kind"] != definition.kind:
        raise invalid(definition.group, obj["kind"], _name(obj), [_must_be(obj, "kind", definition.kind)])


def _must_be(obj: Object, name: str, right: str) -> Cause:
    return fields.invalid(name, obj.get(name) or "", f"must be {right}")


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
