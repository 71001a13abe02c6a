"""Why a server does not take a manifest: every fault by its field and line, then what to do."""

import re

from ingot.api.status import ApiError
from ingot.cli.failure import causes, cure
from ingot.cli.manifest import Manifest

# A manifest that does not fit its kind is refused in one sentence, without causes:
#   failed to create typed patch object (default/x; /v1, Kind=Service): .spec.frob: field not declared in schema
#   strict decoding error: unknown field "spec.frob", unknown field "spec.bar"
_TYPED = re.compile(r"failed to create typed patch object \(.*?\): (?:errors:)?(.*)", re.DOTALL)
_TYPED_FAULT = re.compile(r"^\s*\.(\S+?): (.+)$", re.MULTILINE)
_UNKNOWN = re.compile(r'unknown field "([^"]+)"')
_GO_VALUE = re.compile(r"&value\.valueUnstructured\{Value:(.*?)\}")


def refusal(manifest: Manifest, error: ApiError) -> str:
    """The refusal of an object of `manifest`, for a person."""
    faults = _faults(error)
    rows = [f"  {_place(manifest, field)}{message}" for field, message in faults]
    head = _HEADS.get(error.reason, "refused:") if faults else error.message
    hint = _hint(error, bool(faults))
    return "\n".join([head, *dict.fromkeys(rows), *([f"  {hint}"] if hint else [])])


_HEADS = {"Invalid": "not valid:", "Conflict": "others manage some of its fields:"}


def _faults(error: ApiError) -> list[tuple[str, str]]:
    """Field and message of each fault; none when the message stands for itself."""
    found = [(str(cause.get("field", "")).lstrip("."), str(cause["message"])) for cause in causes(error)]
    if found and error.code < 500:
        return found
    if typed := _TYPED.match(error.message):
        faults = _TYPED_FAULT.findall(_GO_VALUE.sub(r"\1", typed[1]))
        return [(field, message) for field, message in faults]
    return [(field, "no such field") for field in _UNKNOWN.findall(error.message)]


def _place(manifest: Manifest, field: str) -> str:
    if not field or field == "<nil>":
        return ""
    line = manifest.line_of(field)
    return f"{field} (line {line}): " if line else f"{field}: "


def _hint(error: ApiError, has_faults: bool) -> str:
    if has_faults and error.reason != "Conflict":
        return "Mend this and apply again; the object was left as it was."
    return cure(error)
