"""`meta/v1 Status`: how an API says no, as an exception that holds the fields."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ingot.api.object import Object

# Kubernetes tells them all; nobody reads megabytes of them, and making them stops everybody else.
MOST_CAUSES = 1000


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault of one field. `reason` is Kubernetes' word: FieldValueRequired, FieldValueInvalid, …"""

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class ApiError(Exception):
    """A refusal by an API server: sent by ours, received by every client.

    `details` is the wire's object of that name: name, group, kind (mostly a plural), uid, causes, retryAfterSeconds.
    """

    def __init__(self, code: int, reason: str, message: str, details: Object | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details

    def status(self) -> Object:
        """The Status object for the wire."""
        body: Object = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body

    @classmethod
    def from_status(cls, body: Object, code: int = 0) -> Self:
        return cls(
            int(body.get("code") or code),
            str(body.get("reason", "")),
            str(body.get("message", "")),
            body.get("details"),
        )


def _details(group: str, kind: str, name: str = "") -> Object:
    details: Object = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return details


def _qualified(group: str, plural: str) -> str:
    return f"{plural}.{group}" if group else plural


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized(message: str = "Unauthorized") -> ApiError:
    return ApiError(401, "Unauthorized", message)


def forbidden(group: str, plural: str, name: str, why: str) -> ApiError:
    target = f'{_qualified(group, plural)} "{name}"' if name else _qualified(group, plural)
    message = f"{target} is forbidden: {why}" if target else f"forbidden: {why}"
    return ApiError(403, "Forbidden", message, _details(group, plural, name))


def not_found(group: str, plural: str, name: str) -> ApiError:
    message = f'{_qualified(group, plural)} "{name}" not found'
    return ApiError(404, "NotFound", message, _details(group, plural, name))


def path_not_found() -> ApiError:
    """No such path: no resource, version or subresource of that name is served."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def already_exists(group: str, plural: str, name: str) -> ApiError:
    message = f'{_qualified(group, plural)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _details(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {_qualified(group, plural)} "{name}": {why}'
    return ApiError(409, "Conflict", message, _details(group, plural, name))


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large(message: str) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", message)


def unsupported_media_type(message: str) -> ApiError:
    return ApiError(415, "UnsupportedMediaType", message)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 with every cause, or the first of very many; `kind` is the Kind here, not the plural, as on the wire."""
    if len(causes) > MOST_CAUSES:
        causes = [*causes[:MOST_CAUSES], Cause("", f"at least {len(causes) - MOST_CAUSES} more causes are not told")]
    target = f"{kind}.{group}" if group else kind
    listed = ", ".join(dict.fromkeys(str(cause) for cause in causes))
    if len(causes) > 1:
        listed = f"[{listed}]"
    details = _details(group, kind, name)
    details["causes"] = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]
    return ApiError(422, "Invalid", f'{target} "{name}" is invalid: {listed}', details)


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


def insufficient_storage(message: str) -> ApiError:
    return ApiError(507, "InsufficientStorage", message)
