"""Questions that are asked by creating an object: who is this, and may they. They are answered, never stored."""

from collections.abc import Callable

from ingot.api.object import Object
from ingot.standalone.builtin.kinds.kind import define
from ingot.standalone.resources.definition import Definition, nothing

TOKEN_SECONDS = 3600
_AUTHENTICATION = "io.k8s.api.authentication.v1"
_AUTHORIZATION = "io.k8s.api.authorization.v1"


def _token_request(obj: Object) -> None:
    if obj["spec"].get("expirationSeconds") is None:
        obj["spec"]["expirationSeconds"] = TOKEN_SECONDS


def _review(
    package: str, kind: str, namespaced: bool = False, default: Callable[[Object], None] = nothing
) -> Definition:
    made = define(
        f"{package}.{kind}",
        f"{kind.lower()}s",
        namespaced=namespaced,
        verbs=("create",),
        ephemeral=True,
        default=default,
    )
    # A question needs no name, and what it must hold is told by whoever answers it.
    made.validate = lambda _new, _old: []
    return made


TOKEN_REVIEW = _review(_AUTHENTICATION, "TokenReview")
SELF_SUBJECT_REVIEW = _review(_AUTHENTICATION, "SelfSubjectReview")
SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "SubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = _review(_AUTHORIZATION, "SelfSubjectRulesReview")

# What is posted to a subresource has a kind of its own; these are served nowhere else.
SENT = {
    "token": _review(_AUTHENTICATION, "TokenRequest", namespaced=True, default=_token_request),
    "binding": _review("io.k8s.api.core.v1", "Binding", namespaced=True),
    "eviction": _review("io.k8s.api.policy.v1", "Eviction", namespaced=True),
}
