"""Wishes about nodes that no scheduler understands: selectors, affinities, tolerations, DNS."""

from collections.abc import Iterator
from typing import Any

from ingot.api.kubevirt.causes import invalid, not_supported, required
from ingot.api.kubevirt.name_faults import label_key_faults, label_value_faults
from ingot.api.object import Object
from ingot.api.status import Cause

_DNS_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS = ("NoExecute", "NoSchedule", "PreferNoSchedule")
_OPERATORS = ("Equal", "Exists")
_AFFINITIES = ("nodeAffinity", "podAffinity", "podAntiAffinity")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_UNSATISFIABLE = ("DoNotSchedule", "ScheduleAnyway")


def placement_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of what an instance's spec at `path` asks of nodes; the pod of the machine carries all of it."""
    for key, value in (spec.get("nodeSelector") or {}).items():
        yield from label_key_faults(f"{path}.nodeSelector", key)
        yield from label_value_faults(f"{path}.nodeSelector[{key}]", value)
    policy = spec.get("dnsPolicy")
    if policy and policy not in _DNS_POLICIES:
        yield not_supported(f"{path}.dnsPolicy", policy, _DNS_POLICIES)
    if policy == "None" and not (spec.get("dnsConfig") or {}).get("nameservers"):
        why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield required(f"{path}.dnsConfig.nameservers", why)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(toleration, f"{path}.tolerations[{index}]")
    yield from _affinity(spec.get("affinity") or {}, f"{path}.affinity")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield from _spread(constraint, f"{path}.topologySpreadConstraints[{index}]")


def _toleration(toleration: Object, path: str) -> Iterator[Cause]:
    key, value = toleration.get("key") or "", toleration.get("value") or ""
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
    if operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    if effect and effect not in _EFFECTS:
        yield not_supported(f"{path}.effect", effect, _EFFECTS)
    if not isinstance(key, str) or not isinstance(value, str):
        yield invalid(path, "key, value", "must be strings")
        return
    if key:
        yield from label_key_faults(f"{path}.key", key)
    elif operator != "Exists":
        yield invalid(f"{path}.operator", operator, "operator must be Exists when `key` is empty")
    if operator == "Exists" and value:
        yield invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield invalid(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")


def _affinity(affinity: Object, path: str) -> Iterator[Cause]:
    for key, rules in affinity.items():
        field = f"{path}.{key}"
        if key not in _AFFINITIES:
            yield not_supported(field, key, _AFFINITIES)
        elif not isinstance(rules or {}, dict):
            yield invalid(field, rules, "must be an object")
        else:
            yield from _rules(key, rules or {}, field)


def _rules(kind: str, rules: Object, path: str) -> Iterator[Cause]:
    for name in rules:
        if name not in (_REQUIRED, _PREFERRED):
            yield not_supported(f"{path}.{name}", name, (_REQUIRED, _PREFERRED))
    preferred = rules.get(_PREFERRED) or []
    weighted = "preference" if kind == "nodeAffinity" else "podAffinityTerm"
    if not _are_objects(preferred):
        yield invalid(f"{path}.{_PREFERRED}", preferred, "must be a list of objects")
        return
    for index, each in enumerate(preferred):
        if each.get("weight") not in range(1, 101):
            yield invalid(f"{path}.{_PREFERRED}[{index}].weight", each.get("weight"), "must be in the range 1-100")
        if not isinstance(each.get(weighted), dict):
            yield required(f"{path}.{_PREFERRED}[{index}].{weighted}", "what is preferred")
    needed = rules.get(_REQUIRED)
    if needed is None:
        return
    if kind == "nodeAffinity":
        terms = needed.get("nodeSelectorTerms") if isinstance(needed, dict) else None
        if not terms or not _are_objects(terms):
            field = f"{path}.{_REQUIRED}.nodeSelectorTerms"
            yield required(field, "must have at least one node selector term")
    elif not _are_objects(needed) or not all(term.get("topologyKey") for term in needed):
        yield invalid(f"{path}.{_REQUIRED}", needed, "must be a list of terms, each with a topologyKey")


def _spread(constraint: Object, path: str) -> Iterator[Cause]:
    skew, key = constraint.get("maxSkew"), constraint.get("topologyKey")
    if not isinstance(skew, int) or skew < 1:
        yield invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    when = constraint.get("whenUnsatisfiable")
    if when not in _UNSATISFIABLE:
        yield not_supported(f"{path}.whenUnsatisfiable", when, _UNSATISFIABLE)


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)
