import pytest
from access_world import Policy, account, group, rule, someone, url

from ingot.api.status import ApiError
from ingot.standalone.access.attributes import Attributes, Decision
from ingot.standalone.access.user import NOBODY, User, service_account_groups, service_account_name

EVE = User("eve", groups=("devs", "system:authenticated"))
ROBOT = User(service_account_name("lab", "robot"), groups=service_account_groups("lab"))


def pods(verb: str = "get", namespace: str = "", name: str = "", subresource: str = "") -> Attributes:
    return Attributes(verb, "", "v1", "pods", subresource, namespace, name)


def test_without_a_binding_nothing_is_allowed(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    assert policy.authorizer.allowed(EVE, pods()) == Decision(False, "")


def test_masters_need_no_policy(policy: Policy) -> None:
    master = User("root", groups=("system:masters",))
    assert policy.authorizer.allowed(master, pods("delete")) == Decision(True, "")
    assert policy.reads == 0


def test_a_cluster_binding_holds_everywhere(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    policy.bind("readers", "reader", group("ops"), someone("eve"), group("devs"))
    reason = 'RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to User "eve"'
    for namespace in ("", "lab"):
        assert policy.authorizer.allowed(EVE, pods(namespace=namespace)) == Decision(True, reason)
    assert not policy.authorizer.allowed(EVE, pods("list")).allowed
    assert not policy.authorizer.allowed(NOBODY, pods()).allowed


def test_a_binding_of_a_namespace_holds_there_only(policy: Policy) -> None:
    policy.cluster_role("everything", rule("*", "*", "*"), url("*"))
    policy.bind_in("lab", "owner", "ClusterRole", "everything", someone("eve"))
    reason = 'RBAC: allowed by RoleBinding "owner/lab" of ClusterRole "everything" to User "eve"'
    assert policy.authorizer.allowed(EVE, pods(namespace="lab")) == Decision(True, reason)
    assert not policy.authorizer.allowed(EVE, pods(namespace="other")).allowed
    assert not policy.authorizer.allowed(EVE, pods()).allowed
    assert not policy.authorizer.allowed(EVE, Attributes("get", path="/metrics")).allowed


def test_roles_of_the_same_name_in_two_namespaces_are_two_roles(policy: Policy) -> None:
    policy.role("lab", "mine", rule("get", "core", "pods"))
    policy.role("other", "mine", rule("get", "core", "secrets"))
    for namespace in ("lab", "other"):
        policy.bind_in(namespace, "b", "Role", "mine", someone("eve"))
    assert policy.authorizer.allowed(EVE, pods(namespace="lab")).allowed
    assert not policy.authorizer.allowed(EVE, pods(namespace="other")).allowed


def test_a_service_account_is_bound_by_namespace_and_name(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    policy.bind("bots", "reader", account("robot", "lab"))
    reason = 'RBAC: allowed by ClusterRoleBinding "bots" of ClusterRole "reader" to ServiceAccount "robot/lab"'
    assert policy.authorizer.allowed(ROBOT, pods()) == Decision(True, reason)
    other = User(service_account_name("other", "robot"))
    assert not policy.authorizer.allowed(other, pods()).allowed


def test_a_service_account_without_namespace_is_of_the_bindings_own(policy: Policy) -> None:
    policy.role("lab", "reader", rule("get", "core", "pods"))
    policy.bind_in("lab", "bots", "Role", "reader", account("robot"))
    assert policy.authorizer.allowed(ROBOT, pods(namespace="lab")).allowed


def test_a_service_account_of_no_namespace_is_nobody(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    policy.bind("bots", "reader", account("robot"))
    assert not policy.authorizer.allowed(User("system:serviceaccount::robot"), pods()).allowed


def test_names_narrow_a_rule(policy: Policy) -> None:
    policy.cluster_role("one", rule("get", "core", "pods", "a", "b"))
    policy.bind("one", "one", someone("eve"))
    allowed = [policy.authorizer.allowed(EVE, pods(name=name)).allowed for name in ("a", "b", "c", "")]
    assert allowed == [True, True, False, False]


def test_subresources_are_separate(policy: Policy) -> None:
    policy.cluster_role("logs", rule("get", "core", "pods/log */scale"))
    policy.bind("logs", "logs", someone("eve"))
    allowed = [policy.authorizer.allowed(EVE, pods(subresource=each)).allowed for each in ("log", "scale", "", "exec")]
    assert allowed == [True, True, False, False]


def test_paths(policy: Policy) -> None:
    policy.cluster_role("health", url("/healthz/*"))
    policy.bind("health", "health", group("system:unauthenticated"))
    assert policy.authorizer.allowed(NOBODY, Attributes("get", path="/healthz/etcd")).allowed
    assert not policy.authorizer.allowed(NOBODY, Attributes("get", path="/metrics")).allowed


def test_a_change_counts_at_once_and_only_a_change_is_read(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    assert not policy.authorizer.allowed(EVE, pods()).allowed
    before = policy.reads
    assert not policy.authorizer.allowed(EVE, pods()).allowed
    assert policy.reads == before
    policy.bind("readers", "reader", someone("eve"))
    assert policy.authorizer.allowed(EVE, pods()).allowed
    policy.objects.clear()
    policy.version += 1
    assert not policy.authorizer.allowed(EVE, pods()).allowed


def test_gathered_roles_are_followed(policy: Policy) -> None:
    selector = {"clusterRoleSelectors": [{"matchLabels": {"to-view": "true"}}]}
    policy.cluster_role("view", aggregationRule=selector)
    policy.bind("viewers", "view", someone("eve"))
    assert not policy.authorizer.allowed(EVE, pods()).allowed
    policy.cluster_role("part", rule("get", "core", "pods"), labels={"to-view": "true"})
    assert policy.authorizer.allowed(EVE, pods()).allowed


def test_missing_roles_are_told_in_the_reason(policy: Policy) -> None:
    policy.bind("a", "nope", someone("eve"))
    assert policy.authorizer.allowed(EVE, pods()).reason == (
        'RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found'
    )
    policy.bind_in("lab", "b", "Role", "gone", someone("eve"))
    assert policy.authorizer.allowed(EVE, pods(namespace="lab")).reason == (
        'RBAC: [clusterrole.rbac.authorization.k8s.io "nope" not found, '
        'role.rbac.authorization.k8s.io "gone" not found]'
    )


def test_many_questions_do_not_pile_up(policy: Policy) -> None:
    policy.cluster_role("reader", rule("get", "core", "pods"))
    policy.bind("readers", "reader", group("devs"))
    for number in range(3000):
        policy.authorizer.allowed(EVE, Attributes("get", "", "v1", f"made-up-{number}"))
        policy.authorizer.allowed(EVE, pods(namespace=f"made-up-{number}"))
    scopes = policy.authorizer._scopes
    assert len(scopes) <= 1024
    assert all(len(scope.answers) <= 1024 for scope in scopes.values())
    assert policy.authorizer.allowed(EVE, pods()).allowed


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            Attributes("list", "", "v1", "pods", namespace="lab"),
            'pods is forbidden: User "eve" cannot list resource "pods" in API group "" in the namespace "lab"',
        ),
        (
            Attributes("get", "", "v1", "pods", "log", "lab", "web"),
            'pods "web" is forbidden: User "eve" cannot get resource "pods/log" in API group "" in the namespace "lab"',
        ),
        (
            Attributes("list", "apps", "v1", "deployments"),
            'deployments.apps is forbidden: User "eve" cannot list resource "deployments" in API group "apps" '
            "at the cluster scope",
        ),
        (Attributes("get", path="/metrics"), 'forbidden: User "eve" cannot get path "/metrics"'),
        (Attributes("get", path="/<b>&"), 'forbidden: User "eve" cannot get path "/&lt;b&gt;&amp;"'),
    ],
)
def test_a_refusal_reads_as_kubernetes_does(policy: Policy, attributes: Attributes, message: str) -> None:
    with pytest.raises(ApiError) as caught:
        policy.authorizer.check(EVE, attributes)
    assert (caught.value.code, caught.value.reason, caught.value.message) == (403, "Forbidden", message)


def test_a_refusal_ends_with_what_is_wrong_with_the_policy(policy: Policy) -> None:
    policy.bind("a", "nope", someone("eve"))
    with pytest.raises(ApiError, match=r'scope: RBAC: clusterrole\.rbac\.authorization\.k8s\.io "nope" not found$'):
        policy.authorizer.check(EVE, pods())


def test_a_refused_path_has_empty_details(policy: Policy) -> None:
    with pytest.raises(ApiError) as caught:
        policy.authorizer.check(EVE, Attributes("get", path="/"))
    assert caught.value.status()["details"] == {}
