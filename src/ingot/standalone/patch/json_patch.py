"""JSON patch (RFC 6902): a list of operations on places in the object, all of them or none."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ingot.api.object import Object
from ingot.api.status import ApiError, bad_request, too_large
from ingot.standalone.goprint import json_type
from ingot.standalone.patch.values import copy, same

MAX_OPERATIONS: Final = 10_000
# A few copies of copies would fill any memory.
MAX_COPIED: Final = 3 * 1024 * 1024


class _Refused(Exception):
    """An operation that does not apply to this object."""


class _Document:
    """What is being patched: any JSON value, since a patch may replace all of it."""

    __slots__ = ("copied", "root")

    def __init__(self, root: Any) -> None:
        self.root = root
        self.copied = 0


def apply(obj: Object, operations: Any) -> Any:
    """A new document: `obj` after all operations.

    Raises ApiError: 400 for what is not a list of operations, 413 for too many of them, 422 when one does not apply.

    The result is whatever the patch makes of the object; that it is still an object is for the caller to check. As in
    Kubernetes, negative indices count from the end, replacing a missing key of a map sets it, and replacing the whole
    by a scalar does nothing.
    """
    _check(operations)
    document = _Document(copy(obj))
    try:
        for operation in operations or ():
            _OPERATIONS.get((operation or {}).get("op"), _unknown)(document, operation)
    except _Refused:
        # Kubernetes does not say which operation failed, nor why.
        message = "the server rejected our request due to an error in our request"
        raise ApiError(422, "Invalid", message, {}) from None
    return document.root


def _check(operations: Any) -> None:
    if operations is None:
        return
    if type(operations) is not list:
        raise _malformed(operations, "Go value", "[]handlers.jsonPatchOp")
    for operation in operations:
        if operation is None:
            continue
        if type(operation) is not dict:
            raise _malformed(operation, "Go value", "handlers.jsonPatchOp")
        for member in ("op", "path", "from"):
            if not isinstance(operation.get(member, ""), str | None):
                raise _malformed(operation[member], f"Go struct field jsonPatchOp.{member}", "string")
    if len(operations) > MAX_OPERATIONS:
        raise too_large(
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MAX_OPERATIONS}, got {len(operations)}"
        )


def _malformed(value: Any, where: str, wanted: str) -> ApiError:
    return bad_request(f"error decoding patch: json: cannot unmarshal {json_type(value)} into {where} of type {wanted}")


def _unknown(_document: _Document, _operation: Object) -> None:
    raise _Refused


def _pointer(operation: Object, member: str) -> list[str]:
    """The steps of a JSON pointer; none for the whole document."""
    text = operation.get(member)
    if type(text) is not str:
        raise _Refused
    steps = [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")]
    return steps[1:]


def _holder(document: _Document, steps: list[str]) -> tuple[Any, str]:
    """The map or list that holds the place, and its key there."""
    if not steps:
        raise _Refused
    holder = document.root
    for step in steps[:-1]:
        holder = _get(holder, step)
    if type(holder) not in (dict, list):
        raise _Refused
    return holder, steps[-1]


def _get(holder: Any, key: str) -> Any:
    """What is at a key: null for a key that a map does not have, as Kubernetes has it."""
    if type(holder) is dict:
        return holder.get(key)
    if type(holder) is list:
        return holder[_index(key, len(holder))]
    raise _Refused


def _index(key: str, length: int) -> int:
    try:
        index = int(key)
    except ValueError:
        raise _Refused from None
    if not -length <= index < length:
        raise _Refused
    return index % length


def _insert(holder: Any, key: str, value: Any) -> None:
    if type(holder) is dict:
        holder[key] = value
    elif key == "-":
        holder.append(value)
    else:
        holder.insert(_index(key, len(holder) + 1), value)


def _delete(holder: Any, key: str) -> None:
    if type(holder) is list:
        del holder[_index(key, len(holder))]
    elif key in holder:
        del holder[key]
    else:
        raise _Refused


def _add(document: _Document, operation: Object) -> None:
    _insert(*_holder(document, _pointer(operation, "path")), copy(operation.get("value")))


def _remove(document: _Document, operation: Object) -> None:
    _delete(*_holder(document, _pointer(operation, "path")))


def _replace(document: _Document, operation: Object) -> None:
    steps = _pointer(operation, "path")
    if not steps:
        if type(operation.get("value")) in (dict, list):
            document.root = copy(operation["value"])
        return
    holder, key = _holder(document, steps)
    if type(holder) is list:
        holder[_index(key, len(holder))] = copy(operation.get("value"))
    else:
        holder[key] = copy(operation.get("value"))


def _move(document: _Document, operation: Object) -> None:
    holder, key = _holder(document, _pointer(operation, "from"))
    value = _get(holder, key)
    _delete(holder, key)
    _insert(*_holder(document, _pointer(operation, "path")), value)


def _copy(document: _Document, operation: Object) -> None:
    value = copy(_get(*_holder(document, _pointer(operation, "from"))))
    document.copied += len(msgspec.json.encode(value))
    if document.copied > MAX_COPIED:
        raise _Refused
    _insert(*_holder(document, _pointer(operation, "path")), value)


def _test(document: _Document, operation: Object) -> None:
    steps = _pointer(operation, "path")
    found = _get(*_holder(document, steps)) if steps else document.root
    if not same(found, operation.get("value")):
        raise _Refused


_OPERATIONS: Final[dict[Any, Callable[[_Document, Object], None]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
