"""Roles and their bindings, of a namespace and of the whole cluster."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.access.bindings import GROUP
from ingot.standalone.builtin import names, selectors
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.goprint import Shown, quote, strings
from ingot.standalone.resources.definition import Column, Definition
from ingot.standalone.table.render import NAME

_SCHEMA = "io.k8s.api.rbac.v1"
CREATED = Column(
    "Created At",
    lambda obj: obj["metadata"].get("creationTimestamp"),
    "date",
    description="When the object was created.",
)


def _rule(field: str, rule: Object, namespaced: bool) -> list[Cause]:
    causes = []
    if not rule.get("verbs"):
        causes.append(fields.required(f"{field}.verbs", "verbs must contain at least one value"))
    if urls := rule.get("nonResourceURLs"):
        path = f"{field}.nonResourceURLs"
        if namespaced:
            causes.append(fields.invalid(path, strings(urls), "namespaced rules cannot apply to non-resource URLs"))
        if any(rule.get(key) for key in ("apiGroups", "resources", "resourceNames")):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(fields.invalid(path, strings(urls), why))
        return causes
    if not rule.get("apiGroups"):
        causes.append(fields.required(f"{field}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        causes.append(fields.required(f"{field}.resources", "resource rules must supply at least one resource"))
    return causes


def _rules(new: Object, namespaced: bool) -> list[Cause]:
    rules = enumerate(new.get("rules") or ())
    return [cause for index, rule in rules for cause in _rule(f"rules[{index}]", rule, namespaced)]


def _validate_role(new: Object, old: Object | None) -> list[Cause]:
    return _rules(new, namespaced=True)


def _validate_cluster_role(new: Object, old: Object | None) -> list[Cause]:
    causes = _rules(new, namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is None:
        return causes
    path = "aggregationRule.clusterRoleSelectors"
    chosen = aggregation.get("clusterRoleSelectors") or ()
    if not chosen:
        why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        causes.append(fields.required(path, why))
    for index, selector in enumerate(chosen):
        faults = selectors.label_selector(f"{path}[{index}]", selector)
        if faults:
            faults.append(fields.invalid(f"{path}[{index}]", None, "invalid label selector."))
        causes += faults
    return causes


def _default_binding(obj: Object) -> None:
    if not obj["roleRef"].get("apiGroup"):
        obj["roleRef"]["apiGroup"] = GROUP
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def _validate_binding(new: Object, old: Object | None, kinds: tuple[str, ...]) -> list[Cause]:
    role = new["roleRef"]
    causes = []
    if role["apiGroup"] != GROUP:
        causes.append(fields.not_supported("roleRef.apiGroup", role["apiGroup"], [GROUP]))
    if role.get("kind") not in kinds:
        causes.append(fields.not_supported("roleRef.kind", role.get("kind", ""), kinds))
    causes += fields.named("roleRef.name", role.get("name", ""), names.path_segment)
    for index, subject in enumerate(new.get("subjects") or ()):
        causes += _subject(f"subjects[{index}]", subject, namespaced="Role" in kinds)
    if old is not None and role != old["roleRef"]:
        printed = "rbac.RoleRef{APIGroup:%s, Kind:%s, Name:%s}"
        value = printed % tuple(quote(role.get(key, "")) for key in ("apiGroup", "kind", "name"))
        causes.append(fields.invalid("roleRef", Shown(value), "cannot change roleRef"))
    return causes


def _subject(field: str, subject: Object, namespaced: bool) -> list[Cause]:
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    causes = [] if subject.get("name") else [fields.required(f"{field}.name")]
    if kind == "ServiceAccount":
        if name := subject.get("name"):
            causes += fields.checked(f"{field}.name", name, names.subdomain)
        if group:
            causes.append(fields.not_supported(f"{field}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            causes.append(fields.required(f"{field}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            causes.append(fields.not_supported(f"{field}.apiGroup", group, [GROUP]))
    else:
        causes.append(fields.not_supported(f"{field}.kind", kind, ("ServiceAccount", "User", "Group")))
    return causes


def _subjects(obj: Object, kind: str) -> str:
    chosen = [subject for subject in obj.get("subjects") or () if subject.get("kind") == kind]
    if kind != "ServiceAccount":
        return ", ".join(subject.get("name", "") for subject in chosen)
    return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in chosen)


_BINDING_COLUMNS = (
    NAME,
    Column("Role", lambda obj: f"{obj['roleRef']['kind']}/{obj['roleRef']['name']}", description="What is allowed."),
    AGE,
    Column("Users", lambda obj: _subjects(obj, "User"), priority=1, description="The users who may."),
    Column("Groups", lambda obj: _subjects(obj, "Group"), priority=1, description="The groups who may."),
    Column(
        "ServiceAccounts",
        lambda obj: _subjects(obj, "ServiceAccount"),
        priority=1,
        description="The service accounts who may.",
    ),
)


def _role(kind: str, namespaced: bool) -> Definition:
    return define(
        f"{_SCHEMA}.{kind}",
        f"{kind.lower()}s",
        namespaced=namespaced,
        name_rule=names.path_segment,
        validate=_validate_role if namespaced else _validate_cluster_role,
        columns=(NAME, CREATED),
        create_on_update=True,
    )


def _binding(kind: str, namespaced: bool) -> Definition:
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    return define(
        f"{_SCHEMA}.{kind}",
        f"{kind.lower()}s",
        namespaced=namespaced,
        name_rule=names.path_segment,
        default=_default_binding,
        validate=lambda new, old: _validate_binding(new, old, kinds),
        columns=_BINDING_COLUMNS,
        create_on_update=True,
    )


ROLE = _role("Role", namespaced=True)
CLUSTER_ROLE = _role("ClusterRole", namespaced=False)
ROLE_BINDING = _binding("RoleBinding", namespaced=True)
CLUSTER_ROLE_BINDING = _binding("ClusterRoleBinding", namespaced=False)
