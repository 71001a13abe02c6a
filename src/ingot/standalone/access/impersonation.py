"""Requests in another's name, by the headers Impersonate-User, -Group, -Uid and -Extra-*."""

from collections.abc import Sequence
from urllib.parse import unquote

from ingot.api.status import ApiError
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.user import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    User,
    service_account_groups,
    split_service_account,
)
from ingot.standalone.goprint import quote

PREFIX = "impersonate-"
_EXTRA = "extra-"
_AUTHENTICATION = "authentication.k8s.io"


class PlainRefusal(ApiError):
    """A refusal that kube-apiserver sends as plain text rather than as a Status."""


def impersonated(requestor: User, headers: Sequence[tuple[str, str]], path: str, authorizer: Authorizer) -> User:
    """The user that `requestor` acts as; raises the 403 for one whom they may not impersonate.

    `headers` are the pairs whose lower-case name starts with PREFIX, without it.
    """
    name = next((value for key, value in headers if key == "user" and value), "")
    uid = next((value for key, value in headers if key == "uid" and value), "")
    groups = [value for key, value in headers if key == "group"]
    extra: dict[str, tuple[str, ...]] = {}
    for key, value in headers:
        if key.startswith(_EXTRA):
            extra_key = unquote(key.removeprefix(_EXTRA))
            extra[extra_key] = (*extra.get(extra_key, ()), value)
    if not (name or groups or extra or uid):
        return requestor
    if not name:
        raise _without_user(path, groups, extra, uid)
    account = split_service_account(name)
    for attributes in _asked(name, account, groups, extra, uid):
        authorizer.check(requestor, attributes)
    if account is not None and not groups:
        groups = list(service_account_groups(account[0]))
    return User(name, uid, _with_everyone(name, groups), extra)


def _asked(
    name: str,
    account: tuple[str, str] | None,
    groups: Sequence[str],
    extra: dict[str, tuple[str, ...]],
    uid: str,
) -> list[Attributes]:
    """One question to RBAC for each thing that is to be taken on."""
    if account is not None:
        asked = [Attributes("impersonate", resource="serviceaccounts", namespace=account[0], name=account[1])]
    else:
        asked = [Attributes("impersonate", resource="users", name=name)]
    asked += [Attributes("impersonate", resource="groups", name=group) for group in groups]
    asked += [
        Attributes("impersonate", _AUTHENTICATION, "v1", "userextras", subresource=key, name=value)
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        asked.append(Attributes("impersonate", _AUTHENTICATION, "v1", "uids", name=uid))
    return asked


def _with_everyone(name: str, groups: Sequence[str]) -> tuple[str, ...]:
    """`groups` with the group of everybody known, or of everybody unknown, unless the client chose."""
    if name == ANONYMOUS:
        return (*groups,) if UNAUTHENTICATED in groups else (*groups, UNAUTHENTICATED)
    chosen = AUTHENTICATED in groups or UNAUTHENTICATED in groups
    return (*groups,) if chosen else (*groups, AUTHENTICATED)


def _without_user(path: str, groups: Sequence[str], extra: dict[str, tuple[str, ...]], uid: str) -> ApiError:
    """kube-apiserver prints the ObjectReferences that it makes of the headers."""
    listed = [f"{{Group  {group}    }}" for group in groups]
    listed += [
        f"{{UserExtra  {value}  {_AUTHENTICATION}/v1  {key}}}" for key, values in extra.items() for value in values
    ]
    listed += [f"{{UID  {uid}  {_AUTHENTICATION}/v1  }}"] if uid else []
    why = f"requested [{' '.join(listed)}] without impersonating a user"
    return PlainRefusal(500, "InternalError", f"Internal Server Error: {quote(path)}: {why}")
