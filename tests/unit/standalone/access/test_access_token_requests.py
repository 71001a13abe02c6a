import base64
import json
from typing import Any

import pytest
from access_world import Objects, Policy
from cryptography.hazmat.primitives.asymmetric import ec

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.access.reviews import Reviews, token_review
from ingot.standalone.access.token_requests import token_request
from ingot.standalone.access.tokens import ISSUER, TokenIssuer, Tokens
from ingot.standalone.access.user import User


@pytest.fixture
def issuer(signing_key: ec.EllipticCurvePrivateKey, objects: Objects) -> TokenIssuer:
    objects.add("secrets", "default", "key")
    objects.add("nodes", "", "n1")
    objects.add("pods", "default", "web", spec={"serviceAccountName": "robot", "nodeName": "n1"})
    objects.add("pods", "default", "lost", spec={"serviceAccountName": "robot", "nodeName": "gone"})
    objects.add("pods", "default", "other", spec={"serviceAccountName": "default"})
    return TokenIssuer(signing_key, objects.get)


def ask(issuer: TokenIssuer, objects: Objects, spec: Object, metadata: Object | None = None, **more: Any) -> Object:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    if metadata is not None:
        body["metadata"] = metadata
    return token_request(body, "default", more.pop("name", "robot"), issuer, objects.get, **more)


def claims(answer: Object) -> Any:
    payload = answer["status"]["token"].split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=="))


def test_a_token_with_all_defaults(issuer: TokenIssuer, objects: Objects) -> None:
    answer = ask(issuer, objects, {}, now=1_700_000_000.7)
    assert answer["metadata"] == {
        "name": "robot",
        "namespace": "default",
        "creationTimestamp": "2023-11-14T22:13:20Z",
    }
    assert answer["spec"] == {"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": None}
    assert answer["status"]["expirationTimestamp"] == "2023-11-14T23:13:20Z"
    assert claims(answer)["exp"] == 1_700_003_600


def test_the_token_opens_what_it_was_asked_for(issuer: TokenIssuer, objects: Objects) -> None:
    answer = ask(issuer, objects, {"audiences": ["vault"], "expirationSeconds": 600})
    assert issuer.verify(answer["status"]["token"], ["vault"])[0].name == "system:serviceaccount:default:robot"


@pytest.mark.parametrize(
    ("seconds", "rule"),
    [
        (599, "may not specify a duration less than 10 minutes"),
        (0, "may not specify a duration less than 10 minutes"),
        (2**32 + 1, "may not specify a duration larger than 2^32 seconds"),
    ],
)
def test_lifetimes_have_bounds(issuer: TokenIssuer, objects: Objects, seconds: int, rule: str) -> None:
    with pytest.raises(ApiError) as caught:
        ask(issuer, objects, {"expirationSeconds": seconds})
    assert (caught.value.code, caught.value.message) == (
        422,
        f'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {rule}',
    )


def test_tokens_are_bound_to_pods_and_their_nodes(issuer: TokenIssuer, objects: Objects) -> None:
    def bound(kind: str, name: str) -> Any:
        reference = {"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}"}
        claim = claims(ask(issuer, objects, {"boundObjectRef": reference}))["kubernetes.io"]
        return {key: value for key, value in claim.items() if key not in ("namespace", "serviceaccount")}

    node = {"name": "n1", "uid": "uid-n1"}
    assert bound("Pod", "web") == {"pod": {"name": "web", "uid": "uid-web"}, "node": node}
    assert bound("Pod", "lost") == {"pod": {"name": "lost", "uid": "uid-lost"}, "node": {"name": "gone"}}
    assert bound("Secret", "key") == {"secret": {"name": "key", "uid": "uid-key"}}
    assert bound("Node", "n1") == {"node": node}


def test_pods_of_old_clients_get_a_year(issuer: TokenIssuer, objects: Objects) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "web"}
    answer = ask(issuer, objects, {"boundObjectRef": pod, "expirationSeconds": 3607}, now=1000)
    assert claims(answer)["exp"] == 1000 + 365 * 86400
    assert claims(answer)["kubernetes.io"]["warnafter"] == 4607
    assert answer["status"]["expirationTimestamp"] == "1970-01-01T01:16:47Z"
    answer = ask(issuer, objects, {"expirationSeconds": 3607}, now=1000)
    assert claims(answer)["exp"] == 4607
    elsewhere = {"boundObjectRef": pod, "expirationSeconds": 3607, "audiences": ["vault"]}
    assert claims(ask(issuer, objects, elsewhere, now=1000))["exp"] == 4607


@pytest.mark.parametrize(
    ("reference", "code", "message"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "name": "nope"}, 404, 'pods "nope" not found'),
        ({"kind": "Secret", "name": "nope"}, 404, 'secrets "nope" not found'),
        ({"apiVersion": "v1", "kind": "Node", "name": "nope"}, 404, 'nodes "nope" not found'),
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"},
            400,
            "cannot bind token to object of type apps/v1, Kind=Deployment",
        ),
        ({"apiVersion": "v1", "kind": "ConfigMap"}, 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
        ({}, 400, "cannot bind token to object of type /, Kind="),
        (
            {"apiVersion": "v1", "kind": "Pod", "name": "other"},
            400,
            'cannot bind token for serviceaccount "robot" to pod running with different serviceaccount name.',
        ),
        (
            {"apiVersion": "v1", "kind": "Secret", "name": "key", "uid": "old"},
            409,
            'Operation cannot be fulfilled on Secret "key": the UID in the bound object reference (old) does not match '
            "the UID in record. The object might have been deleted and then recreated",
        ),
    ],
)
def test_what_a_token_cannot_be_bound_to(
    issuer: TokenIssuer, objects: Objects, reference: Object, code: int, message: str
) -> None:
    with pytest.raises(ApiError) as caught:
        ask(issuer, objects, {"boundObjectRef": reference})
    assert (caught.value.code, caught.value.message) == (code, message)


def test_names_in_the_body_must_fit_the_path(issuer: TokenIssuer, objects: Objects) -> None:
    ask(issuer, objects, {}, {"name": "robot", "namespace": "default"})
    with pytest.raises(ApiError, match=r'"robot" is invalid: metadata\.name: Invalid value: "x": must match'):
        ask(issuer, objects, {}, {"name": "x"})
    with pytest.raises(ApiError, match="does not match the namespace sent on the request"):
        ask(issuer, objects, {}, {"namespace": "x"})
    with pytest.raises(ApiError, match='serviceaccounts "nobody" not found'):
        ask(issuer, objects, {}, name="nobody")


def review(tokens: Tokens, token: str, *audiences: str) -> Object:
    spec = {"token": token, "audiences": list(audiences)}
    status: Object = token_review({"kind": "TokenReview", "spec": spec}, tokens)["status"]
    return status


def test_a_review_tells_whose_token_it_is(issuer: TokenIssuer, objects: Objects) -> None:
    tokens = Tokens(issuer, {"secret": User("root", "1", ("system:masters",))})
    assert review(tokens, "secret") == {
        "authenticated": True,
        "user": {"username": "root", "uid": "1", "groups": ["system:masters", "system:authenticated"]},
        "audiences": [ISSUER],
    }
    token = ask(issuer, objects, {"audiences": ["vault"]})["status"]["token"]
    assert review(tokens, token, "vault", "x")["audiences"] == ["vault"]
    assert review(tokens, token) == {
        "user": {},
        "error": f'[invalid bearer token, token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]]',
    }
    assert review(tokens, "garbage") == {"user": {}, "error": "invalid bearer token"}


def test_a_review_needs_a_token(issuer: TokenIssuer, objects: Objects, policy: Policy) -> None:
    reviews = Reviews(policy.authorizer, Tokens(issuer, {}), objects.get)
    with pytest.raises(ApiError, match="token is required for TokenReview in authentication") as caught:
        reviews.answer("tokenreviews", {"spec": {}}, User("eve"))
    assert caught.value.code == 400


def test_reviews_answer_requests_for_tokens(issuer: TokenIssuer, objects: Objects, policy: Policy) -> None:
    reviews = Reviews(policy.authorizer, Tokens(issuer, {}), objects.get)
    token = reviews.token_request({"spec": {}}, "default", "robot")["status"]["token"]
    body = reviews.answer("tokenreviews", {"spec": {"token": token}}, User("eve"))
    assert body["status"]["user"]["username"] == "system:serviceaccount:default:robot"
