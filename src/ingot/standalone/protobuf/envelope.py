"""What wraps an object of Kubernetes in protobuf: a magic number, then a message that names the kind."""

from functools import cache

from ingot.api.object import Object, split_api_version
from ingot.api.status import bad_request
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.protobuf.plans import message
from ingot.standalone.protobuf.types import EMPTY, text
from ingot.standalone.protobuf.wire import BYTES, WireError, members

MEDIA = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"

_DELETE_OPTIONS = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
# Kinds that are sent to subresources.
_SENT = {
    ("autoscaling/v1", "Scale"): "io.k8s.api.autoscaling.v1.Scale",
    ("authentication.k8s.io/v1", "TokenRequest"): "io.k8s.api.authentication.v1.TokenRequest",
    ("policy/v1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
    ("policy/v1beta1", "Eviction"): "io.k8s.api.policy.v1.Eviction",
    ("v1", "Binding"): "io.k8s.api.core.v1.Binding",
}


def decode(raw: bytes) -> Object:
    """The object in a protobuf body, as JSON has it. Raises 400 for anything that is none of a known kind."""
    try:
        api_version, kind, content = _open(raw)
    except WireError as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error
    name = schema_name(api_version, kind)
    if name is None:
        raise bad_request(f'no kind "{kind}" is registered for version "{api_version}"')
    obj: Object = {"kind": kind, "apiVersion": api_version}
    try:
        message(name).fill(obj, content, 0)
    except WireError as error:
        version = split_api_version(api_version)[1]
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {error}') from error
    return obj


def schema_name(api_version: str, kind: str) -> str | None:
    """The schema of a kind that a body may be of; None for any other."""
    if kind == "DeleteOptions":
        # Every group has it under its own version.
        return _DELETE_OPTIONS
    return _served().get((api_version, kind))


@cache
def _served() -> dict[tuple[str, str], str]:
    found = dict(_SENT)
    for definition in DEFINITIONS:
        for version in definition.versions.values():
            found[definition.api_version(version.name), definition.kind] = version.schema_name
    return found


def _open(raw: bytes) -> tuple[str, str, memoryview]:
    """API version, kind and content of an envelope. Raises WireError."""
    if not raw:
        raise WireError("empty data")
    if not raw.startswith(MAGIC):
        raise WireError(
            f"provided data does not appear to be a protobuf message, expected prefix [{' '.join(map(str, MAGIC))}]"
        )
    if len(raw) == len(MAGIC):
        raise WireError("empty body")
    # Numbers 3 and 4 are an encoding and a type of the content; Kubernetes sets neither for an object.
    outer = members(memoryview(raw)[len(MAGIC) :], "Unknown", (BYTES, BYTES))
    meta = members(outer.get(1, EMPTY), "TypeMeta", (BYTES, BYTES))
    api_version, kind = text(meta.get(1, EMPTY)), text(meta.get(2, EMPTY))
    if not kind:
        raise WireError("Object 'Kind' is missing")
    if not api_version:
        raise WireError("Object 'apiVersion' is missing")
    return api_version, kind, outer.get(2, EMPTY)
