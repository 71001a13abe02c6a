"""The rules of Kubernetes' default roles, told shortly: `rule(READ, "", "pods")`."""

from collections.abc import Iterable, Sequence

from ingot.api.object import Object
from ingot.standalone.access.bindings import GROUP
from ingot.standalone.access.rules import Rule

READ = ("get", "list", "watch")
WRITE = ("create", "update", "patch", "delete", "deletecollection")
_AUTHENTICATION = "authentication.k8s.io"
_AUTHORIZATION = "authorization.k8s.io"


def rule(verbs: str | Sequence[str], group: str, *resources: str) -> Object:
    verbs = (verbs,) if isinstance(verbs, str) else verbs
    return Rule(tuple(sorted(verbs)), (group,), tuple(sorted(resources))).wire()


def basic_user_rules() -> list[Object]:
    return [
        rule("create", _AUTHORIZATION, "selfsubjectaccessreviews", "selfsubjectrulesreviews"),
        rule("create", _AUTHENTICATION, "selfsubjectreviews"),
    ]


def delegator_rules(*reviews: str) -> list[Object]:
    return [rule("create", _AUTHENTICATION, "tokenreviews"), rule("create", _AUTHORIZATION, *reviews)]


def admin_rules() -> list[Object]:
    return [
        rule("create", _AUTHORIZATION, "localsubjectaccessreviews"),
        rule((*READ, *WRITE), GROUP, "roles", "rolebindings"),
    ]


def edit_rules() -> list[Object]:
    streams = _subresources("pods", "attach", "proxy", "exec", "portforward")
    apps = ("statefulsets", "daemonsets", "deployments", "replicasets")
    scales = ("deployments/scale", "deployments/rollback", "replicasets/scale")
    extensions = ("daemonsets", "deployments", "replicasets", "ingresses", "networkpolicies", *scales)
    return [
        rule(READ, "", *streams, "secrets", "services/proxy"),
        rule("impersonate", "", "serviceaccounts"),
        rule(WRITE, "", "pods", *streams),
        rule("create", "", "pods/eviction"),
        rule(WRITE, "", *_owned(), "services/proxy", "secrets", "events"),
        rule("create", "", "serviceaccounts/token"),
        rule(WRITE, "apps", *apps, *scales, "statefulsets/scale"),
        rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
        rule(WRITE, "batch", "jobs", "cronjobs"),
        rule(WRITE, "extensions", *extensions, "replicationcontrollers/scale"),
        rule(WRITE, "policy", "poddisruptionbudgets"),
        rule(WRITE, "networking.k8s.io", "networkpolicies", "ingresses"),
        rule((*READ, *WRITE), "coordination.k8s.io", "leases"),
    ]


def view_rules() -> list[Object]:
    apps = ("statefulsets", "daemonsets", "deployments", "replicasets")
    scales = ("deployments/scale", "replicasets/scale")
    extensions = ("daemonsets", "deployments", "replicasets", "ingresses")
    states = ("pods", "resourcequotas", "namespaces", "replicationcontrollers")
    claims = ("persistentvolumeclaims/status", "services/status")
    return [
        rule(READ, "", "pods", *_owned(), "endpoints", *claims),
        rule(READ, "", "limitranges", "resourcequotas", "bindings", "events", "pods/log", *_status(states)),
        rule(READ, "", "namespaces"),
        rule(READ, "discovery.k8s.io", "endpointslices"),
        rule(READ, "apps", "controllerrevisions", *apps, *_status(apps), *scales, "statefulsets/scale"),
        rule(READ, "autoscaling", *_with_status("horizontalpodautoscalers")),
        rule(READ, "batch", *_with_status("jobs", "cronjobs")),
        rule(
            READ,
            "extensions",
            *_with_status(*extensions),
            *scales,
            "networkpolicies",
            "replicationcontrollers/scale",
        ),
        rule(READ, "policy", *_with_status("poddisruptionbudgets")),
        rule(READ, "networking.k8s.io", "networkpolicies", *_with_status("ingresses")),
    ]


def node_rules() -> list[Object]:
    """What a node's agent needs. Without kube-apiserver's Node authorizer it is bound to nobody."""
    change = ("update", "patch")
    own = ("get", "create", *change, "delete")
    return [
        *delegator_rules("subjectaccessreviews", "localsubjectaccessreviews"),
        rule(READ, "", "services"),
        rule(("create", *READ), "", "nodes"),
        rule(change, "", "nodes/status"),
        rule(change, "", "nodes"),
        rule(("create", *change), "", "events"),
        rule(READ, "", "pods"),
        rule(("create", "delete"), "", "pods"),
        rule(change, "", "pods/status"),
        rule("create", "", "pods/eviction"),
        rule(READ, "", "secrets", "configmaps"),
        rule("get", "", "persistentvolumeclaims", "persistentvolumes"),
        rule("get", "", "endpoints"),
        rule(("create", *READ), "certificates.k8s.io", "certificatesigningrequests"),
        rule(own, "coordination.k8s.io", "leases"),
        rule("get", "storage.k8s.io", "volumeattachments"),
        rule("create", "", "serviceaccounts/token"),
        rule(("get", *change), "", "persistentvolumeclaims/status"),
        rule(READ, "storage.k8s.io", "csidrivers"),
        rule(own, "storage.k8s.io", "csinodes"),
        rule(READ, "node.k8s.io", "runtimeclasses"),
    ]


def provisioner_rules() -> list[Object]:
    events = Rule(("create", "patch", "update"), ("", "events.k8s.io"), ("events",)).wire()
    return [
        rule((*READ, "create", "delete"), "", "persistentvolumes"),
        rule((*READ, "update"), "", "persistentvolumeclaims"),
        rule(READ, "storage.k8s.io", "storageclasses"),
        rule("watch", "", "events"),
        events,
    ]


def _owned() -> tuple[str, ...]:
    """What a namespace's owner makes in it."""
    return (
        *_subresources("replicationcontrollers", "scale"),
        "replicationcontrollers",
        "serviceaccounts",
        "services",
        "persistentvolumeclaims",
        "configmaps",
    )


def _subresources(resource: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{resource}/{name}" for name in names)


def _status(resources: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{resource}/status" for resource in resources)


def _with_status(*resources: str) -> tuple[str, ...]:
    return (*resources, *_status(resources))


def with_children(*paths: str) -> tuple[str, ...]:
    return (*paths, *(f"{path}/*" for path in paths))


def urls(*paths: str, verbs: tuple[str, ...] = ("get",)) -> Object:
    return Rule(verbs, urls=tuple(sorted(paths))).wire()
