import base64
import hashlib
import hmac
import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from access_world import Objects
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ingot.api.object import Object
from ingot.standalone.access.certificates import new_key
from ingot.standalone.access.claims import InvalidToken
from ingot.standalone.access.tokens import ISSUER, TokenIssuer, Tokens, admin_tokens
from ingot.standalone.access.user import User

NAME = "system:serviceaccount:default:robot"
GROUPS = ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")


@pytest.fixture
def issuer(signing_key: ec.EllipticCurvePrivateKey, objects: Objects) -> TokenIssuer:
    return TokenIssuer(signing_key, objects.get)


@pytest.fixture
def account(objects: Objects) -> Object:
    return objects.found["serviceaccounts", "default", "robot"]


def part(content: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def parts(token: str) -> list[Any]:
    return [json.loads(base64.urlsafe_b64decode(each + "==")) for each in token.split(".")[:2]]


def why(issuer: TokenIssuer, token: str, **more: Any) -> str:
    with pytest.raises(InvalidToken) as caught:
        issuer.verify(token, **more)
    return caught.value.why


def test_claims_are_those_of_kubernetes(issuer: TokenIssuer, account: Object) -> None:
    header, claims = parts(issuer.issue(account, seconds=600, now=1000.5))
    assert (header["alg"], len(header["kid"])) == ("ES256", 43)
    jti = claims.pop("jti")
    assert claims == {
        "aud": [ISSUER],
        "exp": 1600,
        "iat": 1000,
        "iss": ISSUER,
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": "robot", "uid": "uid-robot"}},
        "nbf": 1000,
        "sub": NAME,
    }
    assert parts(issuer.issue(account))[1]["jti"] != jti


def test_a_token_names_its_user(issuer: TokenIssuer, account: Object) -> None:
    token = issuer.issue(account)
    jti = parts(token)[1]["jti"]
    user, audiences = issuer.verify(token)
    extra = {"authentication.kubernetes.io/credential-id": (f"JTI={jti}",)}
    assert (user, audiences) == (User(NAME, "uid-robot", GROUPS, extra), (ISSUER,))


def test_a_bound_token_tells_pod_and_node(issuer: TokenIssuer, account: Object, objects: Objects) -> None:
    pod = objects.add("pods", "default", "web")
    node = {"metadata": {"name": "n1"}}
    user, _ = issuer.verify(issuer.issue(account, bound={"pod": pod, "node": node}))
    told = {key.removeprefix("authentication.kubernetes.io/"): value for key, value in user.extra.items()}
    del told["credential-id"]
    assert told == {"pod-name": ("web",), "pod-uid": ("uid-web",), "node-name": ("n1",)}


def test_another_server_with_the_same_key_accepts_it(
    issuer: TokenIssuer, account: Object, signing_key: ec.EllipticCurvePrivateKey, objects: Objects
) -> None:
    TokenIssuer(signing_key, objects.get).verify(issuer.issue(account))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "garbage",
        "..",
        "a.b.c",
        "a.b.c.d",
        "é.ü.ñ",
        "e30.e30.e30",
        f"e30.{part('text')}.e30",
        f"e30.{part({'iss': 5})}.e30",
        f"{part({'alg': 'ES256'})}.{part({'iss': 'https://elsewhere'})}.AAAA",
        f"e30.{base64.urlsafe_b64encode(b'[' * 100_000).decode().rstrip('=')}.e30",
        f"e30.{base64.urlsafe_b64encode(bytes([255, 254])).decode().rstrip('=')}.e30",
    ],
)
def test_what_is_no_token_of_ours_has_no_reason(issuer: TokenIssuer, token: str) -> None:
    assert why(issuer, token) == ""


BROKEN = "square/go-jose: error in cryptographic primitive"


@pytest.mark.parametrize(
    ("header", "signature", "reason"),
    [
        ({"alg": "none"}, "", BROKEN),
        ({"alg": "none"}, None, BROKEN),
        ({"alg": "HS256"}, None, BROKEN),
        ({"alg": "ES384"}, None, BROKEN),
        ({"alg": "RS256"}, None, BROKEN),
        ({"alg": "ES256", "crit": ["b64"]}, None, BROKEN),
        ({"alg": "ES256", "kid": "other"}, None, "invalid signature, no keys found"),
        ({"alg": "ES256"}, None, BROKEN),
        ({}, None, ""),
        ({"alg": "ES256"}, "AAAA", BROKEN),
        ({"alg": "ES256"}, "!", ""),
    ],
)
def test_forged_headers_and_signatures_open_nothing(
    issuer: TokenIssuer, account: Object, header: Object, signature: str | None, reason: str
) -> None:
    _, payload, good = issuer.issue(account).split(".")
    forged = f"{part(header)}.{payload}.{good if signature is None else signature}"
    assert why(issuer, forged) == reason


def test_the_public_key_is_no_secret_for_a_hmac(
    issuer: TokenIssuer, account: Object, signing_key: ec.EllipticCurvePrivateKey
) -> None:
    public = signing_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    _, payload, _ = issuer.issue(account).split(".")
    signed = f"{part({'alg': 'HS256'})}.{payload}"
    mac = base64.urlsafe_b64encode(hmac.digest(public, signed.encode(), hashlib.sha256)).decode().rstrip("=")
    assert why(issuer, f"{signed}.{mac}") == BROKEN


def test_changed_claims_and_foreign_keys_open_nothing(issuer: TokenIssuer, account: Object, objects: Objects) -> None:
    header, _, signature = issuer.issue(account).split(".")
    changed = parts(issuer.issue(account))[1] | {"exp": 9999999999}
    assert why(issuer, f"{header}.{part(changed)}.{signature}") == BROKEN
    foreign = TokenIssuer(new_key(), objects.get).issue(account)
    assert why(issuer, foreign) == "invalid signature, no keys found"


def test_time_is_checked_with_a_minute_of_leeway(issuer: TokenIssuer, account: Object) -> None:
    token = issuer.issue(account, seconds=600, now=10_000)
    for moment in (10_000 - 59, 10_600 + 59):
        issuer.verify(token, now=moment)
    assert why(issuer, token, now=10_600 + 61) == "service account token has expired"
    assert why(issuer, token, now=10_000 - 61) == "service account token is not valid yet"


def test_audiences_must_meet(issuer: TokenIssuer, account: Object) -> None:
    token = issuer.issue(account, audiences=["vault", "backup"])
    assert issuer.verify(token, ["backup", "other"])[1] == ("backup",)
    assert why(issuer, token) == (
        f'token audiences ["vault" "backup"] is invalid for the target audiences ["{ISSUER}"]'
    )


def test_a_token_dies_with_its_account_at_once(issuer: TokenIssuer, account: Object, objects: Objects) -> None:
    token = issuer.issue(account)
    issuer.verify(token)
    account["metadata"]["uid"] = "another"
    assert why(issuer, token) == "service account UID (another) does not match claim (uid-robot)"
    objects.found.clear()
    assert why(issuer, token) == 'serviceaccounts "robot" not found'


@pytest.mark.parametrize(("kind", "key"), [("secret", "secrets"), ("pod", "pods"), ("node", "nodes")])
def test_a_token_dies_with_what_it_is_bound_to(
    issuer: TokenIssuer, account: Object, objects: Objects, kind: str, key: str
) -> None:
    namespace = "" if kind == "node" else "default"
    bound = objects.add(key, namespace, "thing")
    token = issuer.issue(account, bound={kind: bound})
    issuer.verify(token)
    bound["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    assert why(issuer, token) == "service account token has been invalidated"
    objects.found[key, namespace, "thing"] = {"metadata": {"name": "thing", "uid": "another"}}
    assert why(issuer, token) == f"{kind} UID (another) does not match service account {kind} ref claim (uid-thing)"
    del objects.found[key, namespace, "thing"]
    assert why(issuer, token) == "service account token has been invalidated"


def test_an_account_on_its_way_out_has_a_minute(issuer: TokenIssuer, account: Object) -> None:
    token = issuer.issue(account)
    account["metadata"]["deletionTimestamp"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    issuer.verify(token)
    account["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    assert why(issuer, token) == "service account default/robot has been deleted"


def test_static_tokens_and_signed_ones_together(issuer: TokenIssuer, account: Object) -> None:
    tokens = Tokens(issuer, {"secret": User("root", groups=("system:masters",))})
    assert tokens.verify("secret") == (User("root", groups=("system:masters", "system:authenticated")), (ISSUER,))
    assert tokens.verify(issuer.issue(account))[0].name == NAME
    for token, audiences, reason in (
        ("Secret", None, "invalid bearer token"),
        ("secret", ["elsewhere"], "invalid bearer token"),
        (issuer.issue(account, now=0), None, "[invalid bearer token, service account token has expired]"),
    ):
        with pytest.raises(InvalidToken) as caught:
            tokens.verify(token, audiences)
        assert caught.value.why == reason


def test_the_administrators_token_is_made_once_and_private(tmp_path: Path) -> None:
    first = admin_tokens(tmp_path / "token")
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert admin_tokens(tmp_path / "token") == first
    (token,) = first
    assert len(token) >= 43
    assert first[token].groups == ("system:masters",)
    assert set(admin_tokens(tmp_path / "other")) != {token}
