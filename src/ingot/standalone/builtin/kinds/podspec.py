"""What must hold for a pod: on create, and when it changes."""

from collections.abc import Hashable
from copy import deepcopy
from typing import Any

from ingot.api.object import Object, name_of
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import addresses, meta, names, selectors
from ingot.standalone.builtin.kinds import container, podvolumes
from ingot.standalone.builtin.kinds.node import EFFECTS
from ingot.standalone.builtin.kinds.priorityclass import POLICIES
from ingot.standalone.patch.values import identity
from ingot.standalone.paths import nested

_RESTART = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_LARGEST = 2**31 - 1
_UPDATABLE = (
    "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    volumes, causes = podvolumes.validate(spec, name_of(new))
    causes += container.validate(spec, volumes)
    causes += _network(spec) + _policies(spec) + _names(spec)
    causes += meta.label_causes("spec.nodeSelector", spec.get("nodeSelector") or {})
    causes += _identities("spec.securityContext", spec["securityContext"]) + _node_affinity(spec)
    causes += _tolerations(spec.get("tolerations") or [])
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        causes += addresses.ip(f"spec.hostAliases[{index}].ip", alias.get("ip", ""))
    causes += _images(spec)
    if old is not None:
        return causes + _changes(new, old)
    if spec.get("ephemeralContainers"):
        causes.append(fields.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        causes.append(fields.forbidden("spec.nodeName", why))
    return causes


def _images(spec: Object) -> list[Cause]:
    why = "must not have leading or trailing whitespace"
    return [
        fields.invalid(f"spec.{key}[{index}].image", each["image"], why)
        for key in ("containers", "initContainers")
        for index, each in enumerate(spec.get(key) or ())
        if each.get("image", "") != each.get("image", "").strip()
    ]


def _network(spec: Object) -> list[Cause]:
    if not spec.get("hostNetwork"):
        return []
    why = "must match `containerPort` when `hostNetwork` is true"
    return [
        fields.invalid(f"spec.containers[{index}].ports[{position}].hostPort", port.get("hostPort", 0), why)
        for index, each in enumerate(spec.get("containers") or ())
        for position, port in enumerate(each.get("ports") or ())
        if port.get("hostPort", 0) != port.get("containerPort", 0)
    ]


def _policies(spec: Object) -> list[Cause]:
    causes = fields.one_of("spec.restartPolicy", spec["restartPolicy"], _RESTART)
    causes += fields.one_of("spec.dnsPolicy", spec["dnsPolicy"], _DNS)
    if "preemptionPolicy" in spec:
        causes += fields.one_of("spec.preemptionPolicy", spec["preemptionPolicy"], POLICIES)
    if spec["dnsPolicy"] == "None" and "dnsConfig" not in spec:
        causes.append(fields.required("spec.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None"))
    elif spec["dnsPolicy"] == "None" and not spec["dnsConfig"].get("nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        causes.append(fields.required("spec.dnsConfig.nameservers", why))
    seconds = spec.get("activeDeadlineSeconds")
    if seconds is not None and not 1 <= seconds <= _LARGEST:
        causes.append(fields.invalid("spec.activeDeadlineSeconds", seconds, names.between(1, _LARGEST)))
    return causes


def _names(spec: Object) -> list[Cause]:
    causes = []
    for key in ("serviceAccountName", "nodeName", "priorityClassName", "runtimeClassName"):
        if value := spec.get(key):
            causes += fields.checked(f"spec.{key}", value, names.subdomain)
    for key in ("hostname", "subdomain"):
        if value := spec.get(key):
            causes += fields.checked(f"spec.{key}", value, names.label)
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        causes += fields.checked(f"spec.schedulingGates[{index}]", gate.get("name", ""), names.qualified)
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        path = f"spec.readinessGates[{index}].conditionType"
        causes += fields.checked(path, gate.get("conditionType", ""), names.qualified)
    return causes


def _identities(field: str, context: Object) -> list[Cause]:
    given: list[tuple[str, Any]] = [(key, context.get(key)) for key in ("fsGroup", "runAsUser", "runAsGroup")]
    given += [
        (f"supplementalGroups[{index}]", gid) for index, gid in enumerate(context.get("supplementalGroups") or ())
    ]
    return [
        fields.invalid(f"{field}.{key}", value, names.between(0, _LARGEST))
        for key, value in given
        if value is not None and not 0 <= value <= _LARGEST
    ]


def _node_affinity(spec: Object) -> list[Cause]:
    path = "spec.affinity.nodeAffinity"
    affinity = nested(spec, "affinity", "nodeAffinity") or {}
    causes = []
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None:
        causes += selectors.node_selector(f"{path}.requiredDuringSchedulingIgnoredDuringExecution", required)
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    for index, term in enumerate(preferred):
        field = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        weight = term.get("weight", 0)
        if not 1 <= weight <= 100:
            causes.append(fields.invalid(f"{field}.weight", weight, "must be in the range 1-100"))
        causes += selectors.node_selector_term(f"{field}.preference", term.get("preference") or {})
    return causes


def _tolerations(tolerations: list[Object]) -> list[Cause]:
    causes = []
    for index, toleration in enumerate(tolerations):
        path = f"spec.tolerations[{index}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect, value = toleration.get("effect", ""), toleration.get("value", "")
        if key:
            causes += fields.checked(f"{path}.key", key, names.qualified)
        elif operator != "Exists":
            why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            causes.append(fields.invalid(f"{path}.operator", operator, why))
        if "tolerationSeconds" in toleration and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            causes.append(fields.invalid(f"{path}.effect", effect, why))
        if operator in ("", "Equal"):
            if faults := names.label_value(value):
                causes.append(fields.invalid(f"{path}.operator", value, ";".join(faults)))
        elif operator != "Exists":
            causes.append(fields.not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
        elif value:
            why = "value must be empty when `operator` is 'Exists'"
            causes.append(fields.invalid(f"{path}.operator", value, why))
        if effect and effect not in EFFECTS:
            causes.append(fields.not_supported(f"{path}.effect", effect, EFFECTS))
    return causes


def _changes(pod: Object, before: Object) -> list[Cause]:
    """A pod's spec stands, but for images, its deadline, more tolerations and fewer scheduling gates."""
    spec, old = pod["spec"], before["spec"]
    for key in ("containers", "initContainers"):
        if len(spec.get(key) or ()) != len(old.get(key) or ()):
            return [fields.forbidden(f"spec.{key}", "pod updates may not add or remove containers")]
    causes = _deadline(spec, old) + _tolerations_kept(spec, old)
    gates = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        if gate.get("name") not in gates:
            why = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            causes.append(fields.forbidden(f"spec.schedulingGates[{index}].name", why))
    after, stands = _munged(spec, old), _munged(old, old)
    if _is_scheduled(pod) and not _is_scheduled(before) and not old.get("nodeName"):
        # This is what a binding does: the node comes together with the condition that tells of it.
        after.pop("nodeName", None)
    if after != stands:
        changed = sorted(key for key in after.keys() | stands.keys() if after.get(key) != stands.get(key))
        why = f"pod updates may not change fields other than {_UPDATABLE}\nchanged: {', '.join(changed)}"
        causes.append(fields.forbidden("spec", why))
    return causes


def _is_scheduled(pod: Object) -> bool:
    conditions = nested(pod, "status", "conditions") or ()
    return any(item.get("type") == "PodScheduled" and item.get("status") == "True" for item in conditions)


def _deadline(spec: Object, old: Object) -> list[Cause]:
    now, before = spec.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if before is None or now == before:
        return []
    if now is None:
        why = "must not update from a positive integer to nil value"
        return [fields.invalid("spec.activeDeadlineSeconds", None, why)]
    if now > before:
        return [fields.invalid("spec.activeDeadlineSeconds", now, "must be less than or equal to previous value")]
    return []


def _tolerations_kept(spec: Object, old: Object) -> list[Cause]:
    def plain(tolerations: Any) -> set[Hashable]:
        return {identity({**item, "tolerationSeconds": None}) for item in tolerations or ()}

    if plain(old.get("tolerations")) <= plain(spec.get("tolerations")):
        return []
    why = "existing toleration can not be modified except its tolerationSeconds"
    return [fields.forbidden("spec.tolerations", why)]


def _munged(spec: Object, old: Object) -> Object:
    """The spec without what may change."""
    made = deepcopy(spec)
    for key in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        made.pop(key, None)
    for key in ("containers", "initContainers"):
        for each in made.get(key) or ():
            each.pop("image", None)
    before = old.get("terminationGracePeriodSeconds")
    if before is not None and before < 0 and made.get("terminationGracePeriodSeconds") == 1:
        made["terminationGracePeriodSeconds"] = before
    return made
