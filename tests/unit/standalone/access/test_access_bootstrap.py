import copy

import pytest
from access_world import Policy

from ingot.api.object import Object, name_of
from ingot.standalone.access import bootstrap
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.bindings import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP
from ingot.standalone.access.user import NOBODY, User


@pytest.fixture
def start(policy: Policy) -> Policy:
    for role in bootstrap.cluster_roles():
        policy.add(CLUSTER_ROLES, role)
    for binding in bootstrap.cluster_role_bindings():
        policy.add(CLUSTER_ROLE_BINDINGS, binding)
    return policy


def role(name: str) -> Object:
    return next(each for each in bootstrap.cluster_roles() if name_of(each) == name)


def may(policy: Policy, user: User, verb: str, resource: str = "", group: str = "", **more: str) -> bool:
    resource, _, subresource = resource.partition("/")
    namespace = "" if "path" in more else "lab"
    attributes = Attributes(verb, group, "v1", resource, subresource, namespace, **more)
    return policy.authorizer.allowed(user, attributes).allowed


def test_nobody_sees_health_and_version_only(start: Policy) -> None:
    seen = [path for path in ("/healthz", "/version", "/api", "/metrics") if may(start, NOBODY, "get", path=path)]
    assert seen == ["/healthz", "/version"]
    assert not may(start, NOBODY, "create", "selfsubjectreviews", "authentication.k8s.io")


def test_everybody_known_may_discover_and_ask_about_themselves(start: Policy) -> None:
    eve = User("eve").authenticated()
    assert all(may(start, eve, "get", path=path) for path in ("/api", "/apis/apps/v1", "/openapi/v3", "/readyz"))
    assert may(start, eve, "create", "selfsubjectaccessreviews", "authorization.k8s.io")
    assert not may(start, eve, "get", "pods")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("view", {"get pods", "get pods/log"}),
        ("edit", {"get pods", "get pods/log", "get secrets", "create configmaps", "create serviceaccounts/token"}),
        (
            "admin",
            {"get pods", "get pods/log", "get secrets", "create configmaps", "create serviceaccounts/token"}
            | {f"create rolebindings.{GROUP}"},
        ),
    ],
)
def test_each_role_of_a_namespace_holds_the_one_below(start: Policy, name: str, allowed: set[str]) -> None:
    start.bind_in("lab", "b", "ClusterRole", name, {"kind": "User", "name": "eve"})
    asked = ["get pods", "get pods/log", "get secrets", "create configmaps", "create serviceaccounts/token"]
    asked += [f"create rolebindings.{GROUP}", "create namespaces", "delete nodes"]

    def granted(question: str) -> bool:
        verb, _, resource = question.partition(" ")
        resource, _, group = resource.partition(".")
        return may(start, User("eve"), verb, resource, group)

    assert {question for question in asked if granted(question)} == allowed


def test_what_equals_the_start_is_left_alone() -> None:
    for each in bootstrap.cluster_roles() + bootstrap.cluster_role_bindings():
        stored = {**copy.deepcopy(each), "metadata": {**each["metadata"], "uid": "1", "resourceVersion": "5"}}
        assert bootstrap.reconciled(stored, each) is None


def test_lost_rules_and_subjects_come_back_and_added_ones_stay() -> None:
    added = {"verbs": ["get"], "apiGroups": ["x"], "resources": ["y"]}
    wanted = role("system:basic-user")
    stored = {**wanted, "rules": [wanted["rules"][0], added]}
    mended = bootstrap.reconciled(stored, wanted)
    assert mended is not None
    assert mended["rules"] == [wanted["rules"][0], added, wanted["rules"][1]]
    (binding,) = [each for each in bootstrap.cluster_role_bindings() if name_of(each) == "system:public-info-viewer"]
    other = {"kind": "User", "name": "eve"}
    bound = bootstrap.reconciled({**binding, "subjects": [other]}, binding)
    assert bound is not None
    assert bound["subjects"] == [other, *binding["subjects"]]


def test_an_administrator_may_opt_out() -> None:
    wanted = role("view")
    metadata = {**wanted["metadata"], "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}
    assert bootstrap.reconciled({**wanted, "metadata": metadata, "aggregationRule": {}}, wanted) is None


def test_a_binding_to_another_role_is_made_anew() -> None:
    wanted = bootstrap.cluster_role_bindings()[0]
    stored = {**wanted, "roleRef": {**wanted["roleRef"], "name": "elsewhere"}}
    assert bootstrap.reconciled(stored, wanted) == wanted
