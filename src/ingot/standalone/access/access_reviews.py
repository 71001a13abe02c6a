"""SubjectAccessReview and its kin: what may somebody do?"""

from ingot.api.object import Object, namespace_of
from ingot.api.status import ApiError, Cause, bad_request, invalid
from ingot.standalone import fields
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.rbac import Authorizer, missing_roles
from ingot.standalone.access.review_selectors import check_selectors, evaluation_error
from ingot.standalone.access.user import User
from ingot.standalone.goprint import Shown, quote

GROUP = "authorization.k8s.io"
# What the server sets or clears itself; a client that sends it has said nothing.
_IGNORED = ("managedFields", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "uid", "selfLink")


def subject_access_review(body: Object, authorizer: Authorizer) -> Object:
    """May the user or the groups of the spec do what it says?"""
    spec = body.get("spec") or {}
    causes = [*_check_attributes(spec), *_check_subject(spec), *check_selectors(spec)]
    _refuse(causes + _check_metadata(body, (), "must be empty"))
    return _answered(body, authorizer, _subject(spec))


def local_subject_access_review(body: Object, namespace: str, authorizer: Authorizer) -> Object:
    """The same for one namespace, so that its administrator may ask."""
    if namespace_of(body) not in ("", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    body = {**body, "metadata": {**(body.get("metadata") or {}), "namespace": namespace}}
    spec = body.get("spec") or {}
    causes = [*_check_attributes(spec), *_check_subject(spec), *check_selectors(spec)]
    causes += _check_metadata(body, ("namespace",), "must be empty except for namespace")
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        given, why = resource.get("namespace", ""), "must match metadata.namespace"
        causes.append(fields.invalid("spec.resourceAttributes.namespace", given, why))
    if other is not None:
        why = "disallowed on this kind of request"
        causes.append(fields.invalid("spec.nonResourceAttributes", _shown(other), why))
    _refuse(causes)
    return _answered(body, authorizer, _subject(spec))


def self_subject_access_review(body: Object, user: User, authorizer: Authorizer) -> Object:
    """May I?"""
    spec = body.get("spec") or {}
    causes = [*_check_attributes(spec), *check_selectors(spec)]
    _refuse(causes + _check_metadata(body, (), "must be empty"))
    return _answered(body, authorizer, user)


def self_subject_rules_review(body: Object, user: User, authorizer: Authorizer) -> Object:
    """All that I may do in one namespace."""
    namespace = (body.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise bad_request("no namespace on request")
    rules, missing = authorizer.rules(user, namespace)
    status: Object = {"resourceRules": [], "nonResourceRules": [], "incomplete": False}
    for rule in rules:
        wire = rule.wire()
        if rule.resources:
            kept = {key: value for key, value in wire.items() if key != "nonResourceURLs"}
            status["resourceRules"].append(kept)
        if rule.urls:
            status["nonResourceRules"].append({"verbs": wire["verbs"], "nonResourceURLs": list(rule.urls)})
    if missing:
        status["evaluationError"] = missing_roles(missing)
    head = {"apiVersion": body.get("apiVersion"), "kind": body.get("kind")}
    return {**head, "metadata": {"creationTimestamp": None}, "spec": {}, "status": status}


def _answered(body: Object, authorizer: Authorizer, user: User) -> Object:
    spec = body["spec"]
    decision = authorizer.allowed(user, _attributes(spec))
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    error = evaluation_error(spec)
    if error:
        status["evaluationError"] = error
    metadata = {**(body.get("metadata") or {}), "creationTimestamp": None}
    return {**body, "metadata": metadata, "status": status}


def _subject(spec: Object) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _attributes(spec: Object) -> Attributes:
    resource = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return Attributes(other.get("verb", ""), path=other.get("path", ""))
    named = ("group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(resource.get("verb", ""), **{key: resource.get(key, "") for key in named})


def _check_attributes(spec: Object) -> list[Cause]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [fields.invalid("spec.nonResourceAttributes", _shown(other), why)]
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [fields.invalid("spec.resourceAttributes", None, why)]
    return []


def _check_subject(spec: Object) -> list[Cause]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [fields.invalid("spec.user", "", "at least one of user or group must be specified")]


def _check_metadata(body: Object, allowed: tuple[str, ...], rule: str) -> list[Cause]:
    metadata = body.get("metadata") or {}
    given = {key: value for key, value in metadata.items() if value and key not in (*_IGNORED, *allowed)}
    return [fields.invalid("metadata", Shown(given), rule)] if given else []


def _shown(attributes: Object) -> Shown:
    path, verb = quote(attributes.get("path", "")), quote(attributes.get("verb", ""))
    return Shown(f"authorization.NonResourceAttributes{{Path:{path}, Verb:{verb}}}")


def _refuse(causes: list[Cause]) -> None:
    if causes:
        raise _invalid(causes)


def _invalid(causes: list[Cause]) -> ApiError:
    """kube-apiserver names no kind and no object here, and neither do we."""
    return invalid(GROUP, "", "", causes)
