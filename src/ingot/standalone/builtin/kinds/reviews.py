"""Questions that are asked by creating an object: who is this, and may they. They are answered, never stored."""

from ingot.standalone.builtin.kinds.kind import define
from ingot.standalone.resources.definition import Definition

_AUTHENTICATION = "io.k8s.api.authentication.v1"
_AUTHORIZATION = "io.k8s.api.authorization.v1"


def _review(package: str, kind: str, namespaced: bool = False) -> Definition:
    made = define(f"{package}.{kind}", f"{kind.lower()}s", namespaced=namespaced, verbs=("create",), ephemeral=True)
    # A question needs no name, and what it must hold is told by whoever answers it.
    made.validate = lambda _new, _old: []
    return made


TOKEN_REVIEW = _review(_AUTHENTICATION, "TokenReview")
SELF_SUBJECT_REVIEW = _review(_AUTHENTICATION, "SelfSubjectReview")
SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "SubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_ACCESS_REVIEW = _review(_AUTHORIZATION, "SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = _review(_AUTHORIZATION, "SelfSubjectRulesReview")
