"""The roles and bindings that every Kubernetes API server starts with, as far as they concern this one.

Roles for parts that only a cluster has (kube-scheduler, kube-proxy, the controllers of kube-controller-manager,
certificate signing) are left out. What is here equals kube-apiserver's of the same name.
"""

from collections.abc import Mapping, Sequence

from ingot.api.object import Object
from ingot.standalone.access import default_rules
from ingot.standalone.access.bindings import GROUP
from ingot.standalone.access.default_rules import rule, urls, with_children
from ingot.standalone.access.rules import Rule, uncovered
from ingot.standalone.access.user import AUTHENTICATED, MASTERS, SERVICE_ACCOUNTS, UNAUTHENTICATED

_API_VERSION = f"{GROUP}/v1"
_AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"
_HEALTH = ("/livez", "/readyz", "/healthz")
_VERSION = ("/version", "/version/")
_OPENID = "/.well-known/openid-configuration"


def cluster_roles() -> list[Object]:
    """Every ClusterRole of the start; `admin`, `edit` and `view` gather theirs by label."""
    return [
        _role("cluster-admin", [rule("*", "*", "*"), urls("*", verbs=("*",))]),
        _role("system:discovery", [urls(*_HEALTH, *_VERSION, *with_children("/openapi", "/api", "/apis"))]),
        _role("system:monitoring", [urls("/metrics", "/metrics/slis", *with_children(*_HEALTH))]),
        _role("system:public-info-viewer", [urls(*_HEALTH, *_VERSION)]),
        _role("system:basic-user", default_rules.basic_user_rules()),
        _role("system:auth-delegator", default_rules.delegator_rules("subjectaccessreviews")),
        _role("system:node", default_rules.node_rules()),
        _role("system:persistent-volume-provisioner", default_rules.provisioner_rules()),
        _role(
            "system:service-account-issuer-discovery",
            [urls(_OPENID, f"{_OPENID}/", "/openid/v1/jwks", "/openid/v1/jwks/")],
        ),
        _gathering("admin", ()),
        _gathering("edit", ("admin",)),
        _gathering("view", ("edit",)),
        _role("system:aggregate-to-admin", default_rules.admin_rules(), ("admin",)),
        _role("system:aggregate-to-edit", default_rules.edit_rules(), ("edit",)),
        _role("system:aggregate-to-view", default_rules.view_rules(), ("view",)),
    ]


def cluster_role_bindings() -> list[Object]:
    return [
        _binding("cluster-admin", MASTERS),
        _binding("system:monitoring", "system:monitoring"),
        _binding("system:discovery", AUTHENTICATED),
        _binding("system:basic-user", AUTHENTICATED),
        _binding("system:public-info-viewer", AUTHENTICATED, UNAUTHENTICATED),
        _binding("system:service-account-issuer-discovery", SERVICE_ACCOUNTS),
    ]


def reconciled(existing: Object, wanted: Object) -> Object | None:
    """`existing` with what `wanted` has and it lacks; None when there is nothing to write.

    As in kube-apiserver, an administrator's additions stay, and the autoupdate annotation set to "false" keeps
    hands off. A binding whose roleRef was changed is made anew, for a roleRef cannot be changed in place.
    """
    metadata = existing.get("metadata", {})
    if (metadata.get("annotations") or {}).get(_AUTO_UPDATE) == "false":
        return None
    if "roleRef" in wanted and existing.get("roleRef") != wanted["roleRef"]:
        return wanted
    merged = {**existing, "metadata": dict(metadata)}
    for key in ("labels", "annotations"):
        merged["metadata"][key] = {**wanted["metadata"][key], **(metadata.get(key) or {})}
    if "aggregationRule" in wanted:
        merged["aggregationRule"] = existing.get("aggregationRule") or wanted["aggregationRule"]
    elif "rules" in wanted:
        merged["rules"] = [*(existing.get("rules") or ()), *_missing_rules(existing, wanted)]
    if "subjects" in wanted:
        held = existing.get("subjects") or []
        merged["subjects"] = [*held, *(subject for subject in wanted["subjects"] if subject not in held)]
    return None if merged == existing else merged


def _role(name: str, rules: list[Object], gathered_by: Sequence[str] = ()) -> Object:
    labels = {_gathered_label(gatherer): "true" for gatherer in gathered_by}
    return {**_head("ClusterRole", name, labels), "rules": rules}


def _gathering(name: str, gathered_by: Sequence[str]) -> Object:
    selector = {"matchLabels": {_gathered_label(name): "true"}}
    return {**_role(name, [], gathered_by), "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _gathered_label(name: str) -> str:
    return f"{GROUP}/aggregate-to-{name}"


def _binding(role: str, *groups: str) -> Object:
    return {
        **_head("ClusterRoleBinding", role, {}),
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": group} for group in groups],
    }


def _head(kind: str, name: str, labels: Mapping[str, str]) -> Object:
    metadata = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults", **labels},
        "annotations": {_AUTO_UPDATE: "true"},
    }
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata}


def _missing_rules(existing: Object, wanted: Object) -> list[Object]:
    held = [Rule.of(each) for each in existing.get("rules") or ()]
    return [part.wire() for part in uncovered(held, map(Rule.of, wanted["rules"]))]
