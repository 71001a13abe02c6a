import base64
import time

import pytest
from access_world import Objects, Policy, rule, someone
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from ingot.api.status import ApiError
from ingot.standalone.access import certificates
from ingot.standalone.access.authenticate import Authenticator
from ingot.standalone.access.tokens import TokenIssuer, Tokens
from ingot.standalone.access.user import NOBODY, User

SUBPROTOCOL = "base64url.bearer.authorization.k8s.io."


@pytest.fixture
def authenticator(signing_key: ec.EllipticCurvePrivateKey, objects: Objects, policy: Policy) -> Authenticator:
    static = {"rootsecret": User("root", groups=("system:masters",)), "evesecret": User("eve")}
    return Authenticator(Tokens(TokenIssuer(signing_key, objects.get), static), policy.authorizer)


@pytest.fixture(scope="module")
def authority() -> certificates.Pair:
    return certificates.new_authority("test")


def der(pair: certificates.Pair) -> bytes:
    return pair.certificate.public_bytes(Encoding.DER)


def refused(authenticator: Authenticator, *headers: tuple[str, str], certificate: bytes | None = None) -> ApiError:
    with pytest.raises(ApiError) as caught:
        authenticator.authenticate(headers, certificate, "/api/v1/pods")
    return caught.value


def test_without_credentials_one_is_nobody(authenticator: Authenticator) -> None:
    assert authenticator.authenticate([("Accept", "*/*")]) == NOBODY


@pytest.mark.parametrize("value", ["Basic YTpi", "Bearer", "Bearer ", "rootsecret", "Bearer  rootsecret"])
def test_other_schemes_are_no_credentials(authenticator: Authenticator, value: str) -> None:
    assert authenticator.authenticate([("Authorization", value)]) == NOBODY


@pytest.mark.parametrize("value", ["Bearer evesecret", "bearer evesecret", " Bearer evesecret more"])
def test_a_bearer_token(authenticator: Authenticator, value: str) -> None:
    user = authenticator.authenticate([("authorization", value)])
    assert (user.name, user.groups) == ("eve", ("system:authenticated",))


def test_a_bad_token_is_not_nobody(authenticator: Authenticator) -> None:
    error = refused(authenticator, ("Authorization", "Bearer wrong"))
    assert (error.code, error.reason, error.message) == (401, "Unauthorized", "Unauthorized")


def test_a_certificate_names_user_and_groups(authenticator: Authenticator, authority: certificates.Pair) -> None:
    shown = der(certificates.new_client(authority, "ann", ["ops", "devs"]))
    user = authenticator.authenticate([], shown)
    assert (user.name, user.groups) == ("ann", ("ops", "devs", "system:authenticated"))
    (identity,) = user.extra["authentication.kubernetes.io/credential-id"]
    assert identity == f"X509SHA256={certificates.fingerprint(shown)}"


def test_a_certificate_comes_before_a_token(authenticator: Authenticator, authority: certificates.Pair) -> None:
    shown = der(certificates.new_client(authority, "ann", []))
    for token in ("evesecret", "wrong"):
        assert authenticator.authenticate([("Authorization", f"Bearer {token}")], shown).name == "ann"


def test_a_certificate_that_expires_on_an_open_connection_is_no_longer_good(
    authenticator: Authenticator, authority: certificates.Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = der(certificates.new_client(authority, "ann", []))
    assert authenticator.authenticate([], shown).name == "ann"
    later = time.time() + 400 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    assert refused(authenticator, certificate=shown).code == 401
    assert authenticator.authenticate([("Authorization", "Bearer evesecret")], shown).name == "eve"


def protocols(token: str, *others: str) -> list[tuple[str, str]]:
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    value = ", ".join([*others, SUBPROTOCOL + encoded])
    return [("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", value)]


def test_a_browser_sends_its_token_as_a_subprotocol(authenticator: Authenticator) -> None:
    assert authenticator.authenticate(protocols("evesecret", "v5.channel.k8s.io")).name == "eve"


def test_a_subprotocol_without_a_websocket_is_no_credential(authenticator: Authenticator) -> None:
    assert authenticator.authenticate(protocols("evesecret", "v5.channel.k8s.io")[1:]) == NOBODY


@pytest.mark.parametrize(
    "value",
    [
        f"{SUBPROTOCOL}ZXZlc2VjcmV0",
        f"a, {SUBPROTOCOL}!!",
        f"a, {SUBPROTOCOL}_w",
        f"a, {SUBPROTOCOL}d3Jvbmc",
        f"a, {SUBPROTOCOL}ZXZlc2VjcmV0, {SUBPROTOCOL}ZXZlc2VjcmV0",
    ],
    ids=["alone", "not base64", "not utf-8", "wrong", "twice"],
)
def test_bad_subprotocols_are_refused(authenticator: Authenticator, value: str) -> None:
    assert refused(authenticator, ("Upgrade", "websocket"), ("Sec-WebSocket-Protocol", value)).code == 401


ROOT = ("Authorization", "Bearer rootsecret")


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([("Impersonate-User", "bob")], User("bob", groups=("system:authenticated",))),
        (
            [("impersonate-user", "bob"), ("Impersonate-Group", "g1"), ("Impersonate-Group", "g2")],
            User("bob", groups=("g1", "g2", "system:authenticated")),
        ),
        (
            [
                ("Impersonate-User", "bob"),
                ("Impersonate-Uid", "7"),
                ("Impersonate-Extra-A%2fB", "1"),
                ("Impersonate-Extra-A%2fB", "2"),
            ],
            User("bob", "7", ("system:authenticated",), {"a/b": ("1", "2")}),
        ),
        (
            [("Impersonate-User", "system:serviceaccount:lab:robot")],
            User(
                "system:serviceaccount:lab:robot",
                groups=("system:serviceaccounts", "system:serviceaccounts:lab", "system:authenticated"),
            ),
        ),
        (
            [("Impersonate-User", "system:serviceaccount:lab:robot"), ("Impersonate-Group", "g")],
            User("system:serviceaccount:lab:robot", groups=("g", "system:authenticated")),
        ),
        ([("Impersonate-User", "system:anonymous")], NOBODY),
        (
            [("Impersonate-User", "bob"), ("Impersonate-Group", "system:unauthenticated")],
            User("bob", groups=("system:unauthenticated",)),
        ),
    ],
)
def test_a_master_may_act_as_anybody(authenticator: Authenticator, headers: list[tuple[str, str]], user: User) -> None:
    assert authenticator.authenticate([ROOT, *headers]) == user


def test_acting_as_somebody_takes_a_permission_for_each_part(authenticator: Authenticator, policy: Policy) -> None:
    eve = ("Authorization", "Bearer evesecret")
    wanted = [("Impersonate-User", "bob"), ("Impersonate-Group", "devs"), ("Impersonate-Extra-Scope", "all")]
    assert refused(authenticator, eve, *wanted).message == (
        'users "bob" is forbidden: User "eve" cannot impersonate resource "users" in API group "" at the cluster scope'
    )
    policy.cluster_role("act", rule("impersonate", "core", "users", "bob"), rule("impersonate", "core", "groups"))
    policy.bind("act", "act", someone("eve"))
    assert refused(authenticator, eve, *wanted).message == (
        'userextras.authentication.k8s.io "all" is forbidden: User "eve" cannot impersonate resource '
        '"userextras/scope" in API group "authentication.k8s.io" at the cluster scope'
    )
    assert authenticator.authenticate([eve, *wanted[:2]]).name == "bob"
    account = ("Impersonate-User", "system:serviceaccount:lab:robot")
    assert (
        'resource "serviceaccounts" in API group "" in the namespace "lab"'
        in refused(authenticator, eve, account).message
    )


def test_groups_without_a_user_are_an_error(authenticator: Authenticator) -> None:
    error = refused(authenticator, ROOT, ("Impersonate-Group", "g"), ("Impersonate-Uid", "u"))
    assert (error.code, error.message) == (
        500,
        'Internal Server Error: "/api/v1/pods": requested [{Group  g    } {UID  u  authentication.k8s.io/v1  }] '
        "without impersonating a user",
    )
