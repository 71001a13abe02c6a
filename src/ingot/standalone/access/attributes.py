"""What a request asks for, and the answer to whether it may."""

import msgspec

from ingot.api.status import ApiError, forbidden
from ingot.standalone.access.user import User
from ingot.standalone.goprint import quote

# kube-apiserver escapes these in what it repeats of a request, against browsers that guess a type.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Attributes(msgspec.Struct, frozen=True, gc=False):
    """One request as RBAC sees it.

    `path` is None for a request on a resource; for every other request it is the URL path, and the fields
    about resources mean nothing.
    """

    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None


class Decision(msgspec.Struct, frozen=True, gc=False):
    """Whether, and why: the binding that allows it, or what is wrong with the bindings that do not."""

    allowed: bool
    reason: str = ""


def denial(user: User, attributes: Attributes, reason: str = "") -> ApiError:
    """The 403 with kube-apiserver's words."""
    message = _denied(user, attributes).translate(_HTML)
    if reason:
        message = f"{message}: {reason}"
    if attributes.path is not None:
        return ApiError(403, "Forbidden", f"forbidden: {message}", {})
    return forbidden(attributes.group, attributes.resource, attributes.name, message)


def _denied(user: User, attributes: Attributes) -> str:
    who = f"User {quote(user.name)} cannot {attributes.verb}"
    if attributes.path is not None:
        return f"{who} path {quote(attributes.path)}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    what = f"{who} resource {quote(resource)} in API group {quote(attributes.group)}"
    if attributes.namespace:
        return f"{what} in the namespace {quote(attributes.namespace)}"
    return f"{what} at the cluster scope"
