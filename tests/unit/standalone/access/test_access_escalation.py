import pytest
from access_world import Policy, rule, someone, url

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access import escalation
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.bindings import GROUP
from ingot.standalone.access.user import User

EVE = User("eve", groups=("devs",))
LIMITED = [rule("get list", "core", "pods"), rule("create update", GROUP, "roles rolebindings"), url("/a/*")]


@pytest.fixture
def limited(policy: Policy) -> Policy:
    policy.cluster_role("limited", *LIMITED)
    policy.bind("limited", "limited", someone("eve"))
    return policy


def request(resource: str, name: str = "", namespace: str = "lab") -> Attributes:
    return Attributes("update" if name else "create", GROUP, "v1", resource, "", namespace, name)


def role(*rules: Object, **more: Object) -> Object:
    return {"metadata": {"name": "new"}, "rules": list(rules), **more}


def binding(kind: str, name: str) -> Object:
    return {"metadata": {"name": "new"}, "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name}}


def check(policy: Policy, resource: str, new: Object, old: Object | None = None, name: str = "") -> None:
    namespace = "" if resource.startswith("cluster") else "lab"
    escalation.check(policy.authorizer, EVE, request(resource, name, namespace), new, old)


def test_who_holds_it_may_grant_it(limited: Policy) -> None:
    check(limited, "roles", role(rule("get", "core", "pods", "one")))
    check(limited, "clusterroles", role(rule("list", "core", "pods"), url("/a/b")))


def test_who_does_not_may_not(limited: Policy) -> None:
    granted = role(rule("get delete watch", "core", "pods"), rule("get", "apps", "deployments", "d"))
    with pytest.raises(ApiError) as caught:
        check(limited, "roles", granted)
    assert caught.value.code == 403
    assert caught.value.message == (
        'roles.rbac.authorization.k8s.io "new" is forbidden: user "eve" (groups=["devs"]) is attempting to grant RBAC '
        "permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}\n'
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["d"], Verbs:["get"]}'
    )
    assert caught.value.details == {"name": "new", "group": GROUP, "kind": "roles"}


def test_masters_may_grant_anything(policy: Policy) -> None:
    master = User("root", groups=("system:masters",))
    escalation.check(policy.authorizer, master, request("clusterroles"), role(rule("*", "*", "*")), None)


def test_the_verb_escalate_allows_it_by_name(limited: Policy) -> None:
    limited.role("lab", "free", rule("escalate", GROUP, "roles", "chosen"))
    limited.bind_in("lab", "free", "Role", "free", someone("eve"))
    check(limited, "roles", role(rule("*", "*", "*")), role(), name="chosen")
    with pytest.raises(ApiError):
        check(limited, "roles", role(rule("*", "*", "*")), role(), name="another")


def test_a_binding_grants_what_its_role_has(limited: Policy) -> None:
    limited.role("lab", "small", rule("get", "core", "pods"))
    limited.cluster_role("big", rule("*", "*", "*"))
    check(limited, "rolebindings", binding("Role", "small"))
    with pytest.raises(ApiError, match=r'(?s)^rolebindings.*"new" is forbidden: .*{APIGroups:\["\*"\]') as caught:
        check(limited, "rolebindings", binding("ClusterRole", "big"))
    assert caught.value.code == 403


def test_the_verb_bind_allows_it_by_role(limited: Policy) -> None:
    limited.cluster_role("big", rule("*", "*", "*"))
    limited.cluster_role("binder", rule("bind", GROUP, "clusterroles", "big"))
    limited.bind("binder", "binder", someone("eve"))
    check(limited, "clusterrolebindings", binding("ClusterRole", "big"))


@pytest.mark.parametrize("resource", ["rolebindings", "clusterrolebindings"])
def test_an_unknown_role_is_not_found_in_the_collection_of_the_request(limited: Policy, resource: str) -> None:
    with pytest.raises(ApiError) as caught:
        check(limited, resource, binding("ClusterRole", "nope"))
    assert (caught.value.code, caught.value.message) == (404, f'{resource}.{GROUP} "nope" not found')


def test_gathering_takes_everything(limited: Policy) -> None:
    gathering = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    words = "must have cluster-admin privileges to use the aggregationRule"
    with pytest.raises(ApiError, match=words):
        check(limited, "clusterroles", role(aggregationRule=gathering))
    with pytest.raises(ApiError, match=words):
        check(limited, "clusterroles", role(), role(aggregationRule=gathering), name="new")
    limited.cluster_role("all", rule("*", "*", "*"), url("*", verbs="*"))
    limited.bind("all", "all", someone("eve"))
    check(limited, "clusterroles", role(aggregationRule=gathering))


def test_only_life_cycle_fields_may_change_on_what_one_could_not_grant(limited: Policy) -> None:
    old = role(rule("*", "*", "*"))
    finalized = {**old, "metadata": {"name": "new", "finalizers": ["a.b/c"], "managedFields": [{}]}}
    check(limited, "roles", finalized, old, name="new")
    labelled = {**old, "metadata": {"name": "new", "labels": {"a": "b"}}}
    with pytest.raises(ApiError):
        check(limited, "roles", labelled, old, name="new")


def test_missing_roles_of_the_user_are_told(limited: Policy) -> None:
    limited.bind("lost", "nope", someone("eve"))
    with pytest.raises(
        ApiError, match=r'; resolution errors: \[roles\.rbac\.authorization\.k8s\.io "nope" not found\]$'
    ):
        check(limited, "roles", role(rule("delete", "core", "pods")))


def test_other_kinds_pass(policy: Policy) -> None:
    pod = Attributes("create", "", "v1", "pods", namespace="lab")
    escalation.check(policy.authorizer, EVE, pod, {"metadata": {"name": "new"}}, None)
