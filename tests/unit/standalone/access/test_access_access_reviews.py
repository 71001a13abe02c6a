from typing import Any

import pytest
from access_world import Objects, Policy, rule, someone, url
from cryptography.hazmat.primitives.asymmetric import ec

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access.reviews import Reviews
from ingot.standalone.access.tokens import TokenIssuer, Tokens
from ingot.standalone.access.user import User

EVE = User("eve", "7", ("devs",), {"scope": ("all",)})
POD = {"verb": "get", "resource": "pods", "namespace": "lab"}
PATH = {"verb": "get", "path": "/a"}


@pytest.fixture
def reviews(signing_key: ec.EllipticCurvePrivateKey, objects: Objects, policy: Policy) -> Reviews:
    policy.cluster_role("reader", rule("get list", "core", "pods", "one", "two"), url("/a"))
    policy.role("lab", "reader", rule("get", "core", "pods"))
    policy.bind("readers", "reader", someone("eve"))
    policy.bind_in("lab", "readers", "Role", "reader", someone("eve"))
    tokens = Tokens(TokenIssuer(signing_key, objects.get), {})
    return Reviews(policy.authorizer, tokens, objects.get)


def answer(reviews: Reviews, kind: str, spec: Object, metadata: Object | None = None, **more: Any) -> Object:
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    if metadata is not None:
        body["metadata"] = metadata
    return reviews.answer(f"{kind.lower()}s", body, more.pop("user", EVE), **more)


def causes(reviews: Reviews, kind: str, spec: Object, metadata: Object | None = None, **more: Any) -> list[str]:
    with pytest.raises(ApiError) as caught:
        answer(reviews, kind, spec, metadata, **more)
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
    assert caught.value.message.startswith('.authorization.k8s.io "" is invalid: ')
    details = caught.value.details or {}
    return [f"{cause['field']}: {cause['message']}" for cause in details["causes"]]


def test_somebody_else(reviews: Reviews) -> None:
    status = answer(reviews, "SubjectAccessReview", {"user": "eve", "resourceAttributes": POD})["status"]
    reason = 'RBAC: allowed by RoleBinding "readers/lab" of Role "reader" to User "eve"'
    assert status == {"allowed": True, "reason": reason}
    spec = {"user": "bob", "groups": ["eve"], "resourceAttributes": POD}
    assert answer(reviews, "SubjectAccessReview", spec)["status"] == {"allowed": False}
    spec = {"groups": ["system:masters"], "nonResourceAttributes": {"verb": "get", "path": "/z"}}
    assert answer(reviews, "SubjectAccessReview", spec)["status"] == {"allowed": True}


def test_a_path_is_no_resource(reviews: Reviews) -> None:
    spec = {"user": "eve", "nonResourceAttributes": PATH}
    assert answer(reviews, "SubjectAccessReview", spec)["status"]["allowed"]
    spec = {"user": "eve", "nonResourceAttributes": {}}
    assert not answer(reviews, "SubjectAccessReview", spec)["status"]["allowed"]


def test_the_answer_repeats_the_question(reviews: Reviews) -> None:
    spec = {"user": "eve", "resourceAttributes": POD}
    body = answer(reviews, "SubjectAccessReview", spec, {"managedFields": [{"manager": "x"}]})
    assert body["spec"] == spec
    assert body["metadata"] == {"managedFields": [{"manager": "x"}], "creationTimestamp": None}


def test_oneself(reviews: Reviews) -> None:
    assert answer(reviews, "SelfSubjectAccessReview", {"resourceAttributes": POD})["status"]["allowed"]
    other = answer(reviews, "SelfSubjectAccessReview", {"resourceAttributes": POD}, user=User("bob"))
    assert other["status"] == {"allowed": False}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {},
            [
                'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or '
                "resourceAttributes must be specified",
                'spec.user: Invalid value: "": at least one of user or group must be specified',
            ],
        ),
        (
            {"user": "eve", "resourceAttributes": POD, "nonResourceAttributes": PATH},
            [
                'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/a", Verb:"get"}'
                ": cannot be specified in combination with resourceAttributes"
            ],
        ),
        (
            {"user": "eve", "resourceAttributes": {**POD, "fieldSelector": {}}},
            [
                "spec.resourceAttributes.fieldSelector.requirements: Required value: when "
                "spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required"
            ],
        ),
        (
            {
                "user": "eve",
                "resourceAttributes": {
                    **POD,
                    "labelSelector": {
                        "rawSelector": "a=b",
                        "requirements": [
                            {"key": "a", "operator": "In"},
                            {"key": "", "operator": "Exists", "values": ["x"]},
                        ],
                    },
                },
            },
            [
                'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the '
                "same time as requirements",
                "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be specified when "
                "`operator` is 'In' or 'NotIn'",
                "spec.resourceAttributes.labelSelector.requirements[1].key: Required value: must be specified",
                "spec.resourceAttributes.labelSelector.requirements[1].values: Forbidden: may not be specified when "
                "`operator` is 'Exists' or 'DoesNotExist'",
            ],
        ),
    ],
)
def test_malformed_questions(reviews: Reviews, spec: Object, expected: list[str]) -> None:
    assert causes(reviews, "SubjectAccessReview", spec) == expected


def test_metadata_must_be_empty_save_what_the_server_ignores(reviews: Reviews) -> None:
    spec = {"user": "eve", "resourceAttributes": POD}
    (cause,) = causes(reviews, "SubjectAccessReview", spec, {"name": "x"})
    assert cause.startswith("metadata: Invalid value: ")
    assert cause.endswith(": must be empty")
    answer(reviews, "SubjectAccessReview", spec, {"creationTimestamp": "2020-01-01T00:00:00Z", "uid": "1"})


def test_selectors_that_cannot_be_used_are_told(reviews: Reviews) -> None:
    selector = {"requirements": [{"key": "x", "operator": "Like"}, {"key": "x", "operator": "In", "values": ["1"]}]}
    attributes = {**POD, "fieldSelector": selector, "labelSelector": {"requirements": selector["requirements"][:1]}}
    status = answer(reviews, "SelfSubjectAccessReview", {"resourceAttributes": attributes})["status"]
    assert status["allowed"]
    assert status["evaluationError"] == (
        "spec.resourceAttributes.fieldSelector partially ignored due to parse error; "
        "spec.resourceAttributes.labelSelector ignored due to parse error"
    )


def test_a_local_review_is_for_its_namespace(reviews: Reviews) -> None:
    kind, spec = "LocalSubjectAccessReview", {"user": "eve", "resourceAttributes": POD}
    body = answer(reviews, kind, spec, namespace="lab")
    assert body["status"]["allowed"]
    assert body["metadata"]["namespace"] == "lab"
    assert causes(reviews, kind, spec, namespace="other") == [
        'spec.resourceAttributes.namespace: Invalid value: "lab": must match metadata.namespace'
    ]
    (cause,) = causes(reviews, kind, {"user": "eve", "nonResourceAttributes": PATH}, namespace="lab")
    assert cause.endswith(": disallowed on this kind of request")
    (cause,) = causes(reviews, kind, spec, {"namespace": "lab", "name": "x"}, namespace="lab")
    assert cause.endswith(": must be empty except for namespace")
    with pytest.raises(ApiError, match="does not match the namespace sent on the request") as caught:
        answer(reviews, kind, spec, {"namespace": "other"}, namespace="lab")
    assert caught.value.code == 400


def test_all_rules_of_a_namespace(reviews: Reviews, policy: Policy) -> None:
    status = answer(reviews, "SelfSubjectRulesReview", {"namespace": "lab"})["status"]
    assert status == {
        "resourceRules": [rule("get list", "core", "pods", "one", "two"), rule("get", "core", "pods")],
        "nonResourceRules": [url("/a")],
        "incomplete": False,
    }
    policy.bind("lost", "nope", someone("eve"))
    status = answer(reviews, "SelfSubjectRulesReview", {"namespace": "lab"})["status"]
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "nope" not found'


def test_rules_are_of_some_namespace(reviews: Reviews) -> None:
    with pytest.raises(ApiError, match="no namespace on request") as caught:
        answer(reviews, "SelfSubjectRulesReview", {})
    assert caught.value.code == 400


def test_who_am_i(reviews: Reviews) -> None:
    body = answer(reviews, "SelfSubjectReview", {})
    info = {"username": "eve", "uid": "7", "groups": ["devs"], "extra": {"scope": ["all"]}}
    assert body["status"] == {"userInfo": info}
    assert body["metadata"]["creationTimestamp"].endswith("Z")


def test_unknown_reviews_are_no_paths(reviews: Reviews) -> None:
    with pytest.raises(ApiError) as caught:
        answer(reviews, "PodReview", {})
    assert caught.value.code == 404
