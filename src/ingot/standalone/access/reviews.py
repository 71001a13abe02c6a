"""Kinds that are questions: posted, answered at once, never stored."""

import time

from ingot.api.object import Object
from ingot.api.status import bad_request, path_not_found
from ingot.kube.clock import timestamp
from ingot.standalone.access import access_reviews
from ingot.standalone.access.claims import InvalidToken
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.token_requests import token_request
from ingot.standalone.access.tokens import Get, Tokens
from ingot.standalone.access.user import User


class Reviews:
    """Answers reviews. Bodies come decoded, defaulted and checked against their schema; they are not changed."""

    def __init__(self, authorizer: Authorizer, tokens: Tokens, get: Get) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._get = get

    def answer(self, plural: str, body: Object, user: User, namespace: str = "") -> Object:
        """The review named by its plural, with its status, as asked by `user`."""
        match plural:
            case "subjectaccessreviews":
                return access_reviews.subject_access_review(body, self._authorizer)
            case "localsubjectaccessreviews":
                return access_reviews.local_subject_access_review(body, namespace, self._authorizer)
            case "selfsubjectaccessreviews":
                return access_reviews.self_subject_access_review(body, user, self._authorizer)
            case "selfsubjectrulesreviews":
                return access_reviews.self_subject_rules_review(body, user, self._authorizer)
            case "selfsubjectreviews":
                return self_subject_review(body, user)
            case "tokenreviews":
                return token_review(body, self._tokens)
        raise path_not_found()

    def token_request(self, body: Object, namespace: str, name: str) -> Object:
        """The answer to POST …/serviceaccounts/NAME/token."""
        return token_request(body, namespace, name, self._tokens.issuer, self._get)


def self_subject_review(body: Object, user: User, now: float | None = None) -> Object:
    """Who am I?"""
    return {
        "apiVersion": body.get("apiVersion"),
        "kind": body.get("kind"),
        "metadata": {"creationTimestamp": timestamp(time.time() if now is None else now)},
        "status": {"userInfo": user.info()},
    }


def token_review(body: Object, tokens: Tokens) -> Object:
    """Whose token is this?"""
    spec = body.get("spec") or {}
    if not spec.get("token"):
        raise bad_request("token is required for TokenReview in authentication")
    status: Object
    try:
        user, audiences = tokens.verify(spec["token"], spec.get("audiences") or None)
        status = {"authenticated": True, "user": user.info(), "audiences": list(audiences)}
    except InvalidToken as error:
        status = {"user": {}, "error": error.why}
    metadata = {**(body.get("metadata") or {}), "creationTimestamp": None}
    return {**body, "metadata": metadata, "status": status}
