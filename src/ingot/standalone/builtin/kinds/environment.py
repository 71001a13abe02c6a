"""The environment of a container: variables, and where their values come from."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names

_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
# Fields of a pod that can be asked for, but not as a variable.
_OTHER_FIELDS = ("metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase")
_AMOUNTS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_MANY = "may not have more than one field specified at a time"


def variables(field: str, given: list[Object]) -> list[Cause]:
    """What is wrong with `env`."""
    causes = []
    for index, variable in enumerate(given):
        path = f"{field}[{index}]"
        causes += fields.named(f"{path}.name", variable.get("name", ""), names.environment_variable)
        if "valueFrom" in variable:
            causes += _value_from(f"{path}.valueFrom", variable)
    return causes


def _value_from(field: str, variable: Object) -> list[Cause]:
    source = variable["valueFrom"]
    causes = []
    if "fieldRef" in source:
        causes += _field(f"{field}.fieldRef", source["fieldRef"])
    if "resourceFieldRef" in source:
        causes += _amount(f"{field}.resourceFieldRef", source["resourceFieldRef"])
    for key in ("configMapKeyRef", "secretKeyRef"):
        if key in source:
            causes += fields.checked(f"{field}.{key}.name", source[key].get("name", ""), names.subdomain)
            causes += fields.named(f"{field}.{key}.key", source[key].get("key", ""), names.config_key)
    if not source:
        why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        causes.append(fields.invalid(field, "", why))
    elif variable.get("value"):
        causes.append(fields.invalid(field, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        causes.append(fields.invalid(field, "", _MANY))
    return causes


def _field(field: str, reference: Object) -> list[Cause]:
    path = reference.get("fieldPath", "")
    if not path:
        return [fields.required(f"{field}.fieldPath")]
    name, bracket, rest = path.partition("['")
    if not bracket and path not in _FIELDS and path not in _OTHER_FIELDS:
        why = f"error converting fieldPath: field label not supported: {path}"
        return [fields.invalid(f"{field}.fieldPath", path, why)]
    if not bracket:
        return [] if path in _FIELDS else [fields.not_supported(f"{field}.fieldPath", path, _FIELDS)]
    key = rest.removesuffix("']")
    if name == "metadata.annotations":
        return fields.checked(field, key.lower(), names.qualified)
    if name == "metadata.labels":
        return fields.checked(field, key, names.qualified)
    return [fields.invalid(field, name, "does not support subscript")]


def _amount(field: str, reference: Object) -> list[Cause]:
    name = reference.get("resource", "")
    if not name:
        return [fields.required(f"{field}.resource")]
    if name in _AMOUNTS or name.startswith(_HUGE):
        return []
    return [fields.not_supported(f"{field}.resource", name, _AMOUNTS)]


def sources(field: str, given: list[Object]) -> list[Cause]:
    """What is wrong with `envFrom`."""
    causes = []
    for index, source in enumerate(given):
        path = f"{field}[{index}]"
        if prefix := source.get("prefix"):
            causes += fields.checked(f"{path}.prefix", prefix, names.environment_variable)
        kinds = [key for key in ("configMapRef", "secretRef") if key in source]
        for key in kinds:
            causes += fields.named(f"{path}.{key}.name", source[key].get("name", ""), names.subdomain)
        if not kinds:
            causes.append(fields.invalid(field, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(kinds) > 1:
            causes.append(fields.invalid(field, "", _MANY))
    return causes
