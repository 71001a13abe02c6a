"""One operation of a JSON patch (RFC 6902) on a value."""

from typing import Any

from ingot.api.object import Object


def apply(value: Any, operation: Object) -> Any:
    """The value with the operation done; the given one may be altered. Raises LookupError, ValueError, TypeError."""
    kind, path = operation["op"], _tokens(operation["path"])
    if kind == "test":
        found = _get(value, path)
        if found != operation["value"]:
            raise ValueError(f"test: {operation['path']} is {found!r}")
        return value
    if kind in ("move", "copy"):
        origin = _tokens(operation["from"])
        content = _get(value, origin)
        if kind == "move":
            _remove(value, origin)
        _add(value, path, content)
    elif kind == "add":
        _add(value, path, operation["value"])
    elif kind == "replace":
        _get(value, path)
        _remove(value, path)
        _add(value, path, operation["value"])
    else:
        _remove(value, path)
    return value


def _tokens(pointer: str) -> list[str]:
    if not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} does not begin with a slash")
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer[1:].split("/")]


def _get(value: Any, path: list[str]) -> Any:
    for token in path:
        value = value[_index(value, token)] if isinstance(value, list) else value[token]
    return value


def _add(value: Any, path: list[str], content: Any) -> None:
    parent = _get(value, path[:-1])
    if isinstance(parent, list):
        parent.insert(len(parent) if path[-1] == "-" else _index(parent, path[-1], beyond=1), content)
    else:
        parent[path[-1]] = content


def _remove(value: Any, path: list[str]) -> None:
    parent = _get(value, path[:-1])
    del parent[_index(parent, path[-1]) if isinstance(parent, list) else path[-1]]


def _index(items: list[Any], token: str, beyond: int = 0) -> int:
    if not token.isdecimal() or int(token) >= len(items) + beyond:
        raise IndexError(f"there is no item {token!r} in a list of {len(items)}")
    return int(token)
