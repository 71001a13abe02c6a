"""TokenRequest: a token for a service account, on demand."""

import time
from collections.abc import Mapping

from ingot.api.object import Object, namespace_of, split_api_version, uid_of
from ingot.api.status import bad_request, conflict, invalid, not_found
from ingot.kube.clock import timestamp
from ingot.standalone import fields
from ingot.standalone.access.tokens import Get, TokenIssuer
from ingot.standalone.goprint import quote

GROUP = "authentication.k8s.io"
DEFAULT_SECONDS = 3600
_SHORTEST = 600
_LONGEST = 1 << 32
# A pod that asks for exactly this uses a client library that does not read its token again. Kubernetes gives
# such a token a year and only notes its overuse, and so do we.
_OLD_CLIENT_SECONDS = 3607
_YEAR = 365 * 24 * 3600


def token_request(
    body: Object, namespace: str, name: str, issuer: TokenIssuer, get: Get, now: float | None = None
) -> Object:
    """The TokenRequest with its token in the status; ApiError as kube-apiserver's."""
    moment = time.time() if now is None else now
    metadata, spec = dict(body.get("metadata") or {}), dict(body.get("spec") or {})
    if namespace_of(body) not in ("", namespace):
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    given = metadata.get("name")
    if given and given != name:
        cause = fields.invalid("metadata.name", given, "must match the service account name if specified")
        raise invalid(GROUP, "TokenRequest", name, [cause])
    account = get("serviceaccounts", namespace, name)
    if account is None:
        raise not_found("", "serviceaccounts", name)
    spec["audiences"] = spec.get("audiences") or list(issuer.audiences)
    spec["expirationSeconds"] = seconds = _seconds(spec)
    spec.setdefault("boundObjectRef", None)
    bound = _bound(spec["boundObjectRef"], namespace, name, get)
    old_client = seconds == _OLD_CLIENT_SECONDS and set(spec["audiences"]) <= set(issuer.audiences)
    extended = "pod" in bound and old_client
    token = issuer.issue(
        account,
        audiences=spec["audiences"],
        seconds=_YEAR if extended else seconds,
        warn_after=seconds if extended else 0,
        bound=bound,
        now=moment,
    )
    metadata.update(name=name, namespace=namespace, creationTimestamp=timestamp(moment))
    status = {"token": token, "expirationTimestamp": timestamp(moment + seconds)}
    return {**body, "metadata": metadata, "spec": spec, "status": status}


def _seconds(spec: Object) -> int:
    given = spec.get("expirationSeconds")
    seconds = DEFAULT_SECONDS if given is None else int(given)
    if seconds < _SHORTEST:
        rule = "may not specify a duration less than 10 minutes"
    elif seconds > _LONGEST:
        rule = "may not specify a duration larger than 2^32 seconds"
    else:
        return seconds
    raise invalid(GROUP, "TokenRequest", "", [fields.invalid("spec.expirationSeconds", seconds, rule)])


def _bound(reference: Object | None, namespace: str, account: str, get: Get) -> Mapping[str, Object]:
    """The objects that the token dies with, by the claim that names them."""
    if reference is None:
        return {}
    group, version = split_api_version(reference.get("apiVersion", ""))
    kind, name = reference.get("kind", ""), reference.get("name", "")
    if group or kind not in ("Pod", "Secret", "Node"):
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    plural = f"{kind.lower()}s"
    found = get(plural, "" if kind == "Node" else namespace, name)
    if found is None:
        raise not_found("", plural, name)
    bound = {kind.lower(): found}
    if kind == "Pod":
        spec = found.get("spec") or {}
        if spec.get("serviceAccountName", "") != account:
            raise bad_request(
                f"cannot bind token for serviceaccount {quote(account)} to pod running with different"
                " serviceaccount name."
            )
        node = spec.get("nodeName")
        if node:
            bound["node"] = get("nodes", "", node) or {"metadata": {"name": node}}
    _check_uid(kind, reference, found)
    return bound


def _check_uid(kind: str, reference: Object, found: Object) -> None:
    uid = reference.get("uid")
    if uid and uid != uid_of(found):
        why = (
            f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            "The object might have been deleted and then recreated"
        )
        raise conflict("", kind, reference.get("name", ""), why)
