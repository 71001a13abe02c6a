"""What went wrong, for a person: the server's word, then what to do about it."""

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ingot.api.object import Object
from ingot.api.status import ApiError

if TYPE_CHECKING:
    from ingot.kube.discovery import Served
    from ingot.kube.transport import ConnectionFailed


def explain(error: ApiError) -> str:
    """A refusal in full: its message, and the cure where one is known."""
    hint = cure(error)
    return f"{error.message}\n{hint}" if hint else error.message


def cure(error: ApiError) -> str:
    """What the user can do about a refusal; empty when its message says it all."""
    if error.reason == "Conflict" and causes(error):
        return "Leave these fields out of the manifest, or take them over with --force-conflicts."
    if error.reason == "NotFound" and (error.details or {}).get("kind") == "namespaces":
        name = (error.details or {}).get("name", "NAME")
        return f"Apply a Namespace {name} first, or choose another namespace with --namespace."
    if error.reason == "AlreadyExists" or error.code == 409:
        return "Something else changed it at the same moment; try again."
    return _CURES.get(error.reason) or (_CURES["ServerError"] if error.code >= 500 else "")


_CURES = {
    "Unauthorized": "The server does not know these credentials: check the user in the kubeconfig, or its expiry.",
    "Forbidden": "Your user lacks that right: use another --context, or ask for a RoleBinding.",
    "Expired": "The list took so long that the server forgot its version; try again.",
    "TooManyRequests": "The server is overloaded; try again in a few seconds.",
    "InsufficientStorage": "The server's disk is full: make room there; what was stored before is safe.",
    "ServerError": "The server failed at this; its log says why, and trying again is safe.",
}


def causes(error: ApiError) -> list[Object]:
    """The single faults of a refusal, each with `field` and `message`."""
    found: list[Object] = (error.details or {}).get("causes") or []
    return [cause for cause in found if cause.get("message")]


def explain_connection(error: "ConnectionFailed", source: str) -> str:
    """Which server was tried, who named it, and how to have one that answers."""
    head = f"cannot talk to {error.server} (from {source}): {_WHY.get(error.why, error.why)}"
    return f"{head}\n{_advice(error, source)}"


_WHY = {
    "refused": "nothing listens there",
    "unreachable": "it cannot be reached",
    "tls": "its certificate is not the one expected",
    "closed": "it closed the connection",
    "timeout": "it did not answer in time",
}


def _advice(error: "ConnectionFailed", source: str) -> str:
    if error.why == "tls":
        return f"{error.detail}\nThe kubeconfig belongs to another server, or the server has new keys: get a new one."
    if error.why == "refused" and source.endswith("/kubeconfig"):
        directory = source.removesuffix("/kubeconfig")
        return f"Start a server with `ingot up --dir {directory} --detach`, or name another with --kubeconfig."
    if error.why == "refused":
        return "Start a server with `ingot up --detach`, or name another with --kubeconfig."
    sent = "; what was asked for may have been done" if error.sent and error.method != "GET" else ""
    return f"{error.detail}{sent}. Check the address and the network, then try again."


def explain_unknown(name: str, served: "Sequence[Served]") -> str:
    """Which type is not served, and those that look like it."""
    head = f'the server has no resource type "{name}"'
    close = similar(name, served)
    if close:
        return f"{head}\nDid you mean {' or '.join(close)}?"
    return f"{head}\nIf it is a custom kind, apply its CustomResourceDefinition first."


def similar(name: str, served: "Sequence[Served]") -> list[str]:
    """Up to three types that may have been meant."""
    word = name.lower().partition(".")[0]
    known: dict[str, str] = {}
    for each in served:
        for alias in (each.resource.plural, each.singular, *each.short_names):
            known.setdefault(alias, each.resource.plural)
    return list(dict.fromkeys(known[alias] for alias in difflib.get_close_matches(word, known, 3, 0.75)))
