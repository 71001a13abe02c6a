"""The versions of a CRD: names, storage, columns, subresources and selectable fields."""

from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.goprint import strings
from ingot.standalone.schema import crd_schema
from ingot.standalone.schema.fieldpaths import FieldPathError, resolve

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_SELECTABLE = 8
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")


def shared(spec: Object, key: str) -> Any:
    """What all versions say alike, or None. Kubernetes moves it to the top before it looks at a CRD."""
    given = [version.get(key) for version in spec.get("versions") or ()]
    return given[0] if given and all(value == given[0] for value in given) else None


def check(spec: Object, old: Object | None) -> list[Cause]:
    """What is wrong with the versions as such, and with what they do not share."""
    versions = spec.get("versions") or ()
    causes: list[Cause] = []
    own = [key for key in _SHARED if shared(spec, key) is None]
    for position, version in enumerate(versions):
        path = fields.index("spec.versions", position)
        faults = names.label_1035(version.get("name") or "")
        if faults:
            causes.append(fields.invalid(f"{path}.name", version.get("name") or "", ",".join(faults)))
        causes += _deprecation(version, path)
        before = _schema(old, version.get("name"))
        causes += _parts({key: version.get(key) for key in own}, path, _has_status(version), before)
    listed = strings(version.get("name") or "" for version in versions)
    known = [version.get("name") for version in versions]
    if len(set(known)) != len(known):
        causes.append(fields.invalid("spec.versions", listed, "must contain unique version names"))
    if sum(version.get("storage") is True for version in versions) != 1:
        detail = "must have exactly one version marked as storage version"
        causes.append(fields.invalid("spec.versions", listed, detail))
    if versions:
        first = versions[0].get("name") or ""
        faults = names.label_1035(first)
        if first and faults:
            causes.append(fields.invalid("spec.version", first, ",".join(faults)))
    return causes


def check_shared(spec: Object, old: Object | None) -> list[Cause]:
    """What is wrong with the parts that all versions share."""
    parts = {key: shared(spec, key) for key in _SHARED}
    versions = spec.get("versions") or ()
    status = any(_has_status(version) for version in versions)
    before = _schema(old, versions[0].get("name")) if versions else None
    return _parts(parts, "spec", status, before, "validation")


def _schema(spec: Object | None, name: str | None) -> Object | None:
    """The schema of a version, if there is such a version."""
    versions = (spec or {}).get("versions") or ()
    found: Object = next((version for version in versions if version.get("name") == name), {})
    return (found.get("schema") or {}).get("openAPIV3Schema")


def _has_status(version: Object) -> bool:
    return (version.get("subresources") or {}).get("status") is not None


def _parts(parts: Object, path: str, status: bool, before: Object | None, schema_key: str = "schema") -> list[Cause]:
    schema = (parts.get("schema") or {}).get("openAPIV3Schema")
    causes: list[Cause] = []
    if schema is not None:
        causes += crd_schema.check(schema, f"{path}.{schema_key}.openAPIV3Schema", status, before)
    causes += _subresources(parts.get("subresources") or {}, f"{path}.subresources")
    for position, column in enumerate(parts.get("additionalPrinterColumns") or ()):
        causes += _column(column, fields.index(f"{path}.additionalPrinterColumns", position))
    selectable = parts.get("selectableFields")
    if selectable:
        causes += _selectable(selectable, schema or {}, f"{path}.selectableFields")
    return causes


def _deprecation(version: Object, path: str) -> list[Cause]:
    warning = version.get("deprecationWarning")
    path = f"{path}.deprecationWarning"
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [fields.invalid(path, warning, "can only be set for deprecated versions")]
    causes = []
    if len(warning.encode()) > 256:
        causes.append(fields.invalid(path, warning, "must be <= 256 characters long"))
    if not warning:
        causes.append(fields.invalid(path, warning, "must not be an empty string"))
    for position, char in enumerate(warning):
        if not char.isprintable():
            place = len(warning[:position].encode())
            detail = f"must only contain printable UTF-8 characters; non-printable character found at index {place}"
            causes.append(fields.invalid(path, warning, detail))
            break
    return causes


def _column(column: Object, path: str) -> list[Cause]:
    causes = []
    kinds = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("name"):
        causes.append(fields.required(f"{path}.name"))
    if not column.get("type"):
        causes.append(fields.required(f"{path}.type", kinds))
    elif column["type"] not in _COLUMN_TYPES:
        causes.append(fields.invalid(f"{path}.type", column["type"], kinds))
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
        causes.append(fields.invalid(f"{path}.format", column["format"], detail))
    if not column.get("jsonPath"):
        causes.append(fields.required(f"{path}.JSONPath"))
    else:
        causes += _simple_path(column["jsonPath"], f"{path}.JSONPath")
    return causes


def _simple_path(given: str, path: str) -> list[Cause]:
    if given.startswith("."):
        return []
    return [fields.invalid(path, given, "must be a simple json path starting with .")]


def _subresources(subresources: Object, path: str) -> list[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    causes = []
    for key, prefixes in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        if not scale.get(key):
            causes.append(fields.required(f"{path}.scale.{key}"))
        else:
            causes += _scale_path(scale[key], prefixes, f"{path}.scale.{key}")
    if scale.get("labelSelectorPath"):
        place = f"{path}.scale.labelSelectorPath"
        causes += _scale_path(scale["labelSelectorPath"], (".spec.", ".status."), place)
    return causes


def _scale_path(given: str, prefixes: tuple[str, ...], path: str) -> list[Cause]:
    causes = _simple_path(given, path)
    if not causes and not given.startswith(prefixes):
        where = "either .spec or .status" if len(prefixes) > 1 else prefixes[0].rstrip(".")
        causes.append(fields.invalid(path, given, f"should be a json path under {where}"))
    return causes


def _selectable(selectable: list[Object], schema: Object, path: str) -> list[Cause]:
    causes = []
    seen = set()
    for position, entry in enumerate(selectable):
        place, given = f"{fields.index(path, position)}.jsonPath", entry.get("jsonPath") or ""
        if not given:
            causes.append(fields.required(place))
            continue
        try:
            found, target = resolve(given, schema, brackets=False)
        except FieldPathError as error:
            causes.append(fields.invalid(place, given, f"is an invalid path: {error}"))
            continue
        if found.partition(".")[0] == "metadata":
            causes.append(fields.invalid(place, given, "must not point to fields in metadata"))
        if target.get("type") not in ("string", "boolean", "integer"):
            detail = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            causes.append(fields.invalid(place, given, detail))
        if found in seen:
            causes.append(fields.duplicate(place, given))
        seen.add(found)
    if len(seen) > _MAX_SELECTABLE:
        causes.append(fields.too_many(path, len(seen), _MAX_SELECTABLE))
    return causes
