"""What is wrong with a CustomResourceDefinition."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.goprint import quote, strings
from ingot.standalone.schema import crd_conversion, crd_schema, crd_versions
from ingot.standalone.schema.gourl import URLError, parse_request_uri

_APPROVAL = "api-approved.kubernetes.io"
_APPROVAL_PAGE = "see https://github.com/kubernetes/enhancements/pull/1111"
_PRESERVE = "spec.preserveUnknownFields"


def check_crd(crd: Object, old: Object | None = None) -> list[Cause]:
    """Everything that kube-apiserver would refuse in a defaulted CRD, beyond what holds for every object's metadata.

    Schemas are looked at as it does: what all versions share is told at `spec.validation`, `spec.subresources`,
    `spec.additionalPrinterColumns` and `spec.selectableFields`.
    """
    spec = crd["spec"]
    causes = _name(crd) if old is None else []
    causes += _group_and_scope(spec)
    causes += crd_schema.presence(spec)
    causes += crd_versions.check(spec, None if old is None else old["spec"])
    causes += _names(spec.get("names") or {}, "spec.names", required=True)
    causes += crd_versions.check_shared(spec, None if old is None else old["spec"])
    causes += crd_conversion.check(spec.get("conversion") or {}, "spec.conversion")
    if old is not None:
        causes += _immutable(spec, old)
    causes += check_crd_status(crd)
    causes += _stored_versions(crd)
    causes += _approval(crd, old)
    if spec.get("preserveUnknownFields") is True and not (old and old["spec"].get("preserveUnknownFields")):
        causes.append(
            fields.invalid(
                _PRESERVE,
                True,
                "cannot set to true, set x-kubernetes-preserve-unknown-fields to true "
                "in spec.versions[*].schema instead",
            )
        )
    return causes


def check_crd_status(crd: Object, _old: Object | None = None) -> list[Cause]:
    """What kube-apiserver would refuse in the status alone: it may name any stored versions until the rest changes."""
    return _names((crd.get("status") or {}).get("acceptedNames") or {}, "status.acceptedNames", required=False)


def _name(crd: Object) -> list[Cause]:
    spec, name = crd["spec"], crd["metadata"].get("name") or ""
    wanted = f"{(spec.get('names') or {}).get('plural') or ''}.{spec.get('group') or ''}"
    if not name or name == wanted:
        return []
    return [fields.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')]


def _group_and_scope(spec: Object) -> list[Cause]:
    causes = []
    group, scope = spec.get("group") or "", spec.get("scope") or ""
    faults = names.subdomain(group)
    if not group:
        causes.append(fields.required("spec.group"))
    elif faults:
        causes.append(fields.invalid("spec.group", group, ",".join(faults)))
    elif "." not in group:
        causes.append(fields.invalid("spec.group", group, "should be a domain with at least one dot"))
    if not scope:
        causes.append(fields.required("spec.scope"))
    elif scope not in ("Cluster", "Namespaced"):
        causes.append(fields.not_supported("spec.scope", scope, ("Cluster", "Namespaced")))
    return causes


def _names(given: Object, path: str, required: bool) -> list[Cause]:
    causes = []
    if required:
        causes += [
            fields.required(f"{path}.{key}") for key in ("plural", "singular", "kind", "listKind") if not given.get(key)
        ]
    for key in ("plural", "singular"):
        faults = names.label_1035(given.get(key) or "")
        if given.get(key) and faults:
            causes.append(fields.invalid(f"{path}.{key}", given[key], ",".join(faults)))
    for key in ("kind", "listKind"):
        faults = names.label_1035((given.get(key) or "").lower())
        if given.get(key) and faults:
            detail = f"may have mixed case, but should otherwise match: {','.join(faults)}"
            causes.append(fields.invalid(f"{path}.{key}", given[key], detail))
    causes += _labels(given.get("shortNames"), f"{path}.shortNames")
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        causes.append(fields.invalid(f"{path}.listKind", given["listKind"], "kind and listKind may not be the same"))
    return causes + _labels(given.get("categories"), f"{path}.categories")


def _labels(given: list[str] | None, path: str) -> list[Cause]:
    return [
        fields.invalid(fields.index(path, position), name, ",".join(faults))
        for position, name in enumerate(given or ())
        if (faults := names.label_1035(name))
    ]


def _immutable(spec: Object, old: Object) -> list[Cause]:
    """A kind that is served keeps its scope and kind; group and plural are its address for ever."""
    conditions = (old.get("status") or {}).get("conditions") or ()
    served = any(found["type"] == "Established" and found["status"] == "True" for found in conditions)
    paths = ["spec.scope", "spec.names.kind"] if served else []
    causes = []
    for path in [*paths, "spec.group", "spec.names.plural"]:
        new_value, old_value = _at(spec, path), _at(old["spec"], path)
        if new_value != old_value:
            causes.append(fields.immutable(path, new_value))
    return causes


def _at(spec: Object, path: str) -> str:
    inner = spec.get("names") or {} if ".names." in path else spec
    return inner.get(path.rpartition(".")[2]) or ""


def _stored_versions(crd: Object) -> list[Cause]:
    path = "status.storedVersions"
    stored = list((crd.get("status") or {}).get("storedVersions") or ())
    if not stored:
        return [fields.invalid(path, strings([]), "must have at least one stored version")]
    versions = crd["spec"].get("versions") or ()
    causes = [
        fields.invalid(path, strings(stored), f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    known = {version.get("name") for version in versions}
    return causes + [
        fields.invalid(fields.index(path, position), name, "must appear in spec.versions")
        for position, name in enumerate(stored)
        if name not in known
    ]


def _approval(crd: Object, old: Object | None) -> list[Cause]:
    """Kinds in Kubernetes' own groups must say where they were approved."""
    group = f".{crd['spec'].get('group') or ''}"
    if not group.endswith((".k8s.io", ".kubernetes.io")):
        return []
    given = (crd["metadata"].get("annotations") or {}).get(_APPROVAL) or ""
    state = _approval_state(given)
    if old is not None:
        before = (old["metadata"].get("annotations") or {}).get(_APPROVAL) or ""
        if _approval_state(before) == state:
            return []
    path = fields.key("metadata.annotations", _APPROVAL)
    if state == "missing":
        detail = f"protected groups must have approval annotation {quote(_APPROVAL)}, {_APPROVAL_PAGE}"
        return [fields.required(path, detail)]
    if state == "invalid":
        detail = (
            f"protected groups must have approval annotation {quote(_APPROVAL)} with either a URL or a reason "
            f'starting with "unapproved", {_APPROVAL_PAGE}'
        )
        return [fields.invalid(path, given, detail)]
    return []


def _approval_state(given: str) -> str:
    if not given:
        return "missing"
    if given.startswith("unapproved"):
        return "bypassed"
    try:
        url = parse_request_uri(given)
    except URLError:
        return "invalid"
    return "approved" if url.host and url.scheme else "invalid"
