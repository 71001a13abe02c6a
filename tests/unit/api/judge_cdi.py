"""What an API server does to an object of ours between the wire and the store, for tests of kinds alone.

It follows kube-apiserver: unknown fields are told, status goes on creation, admission rewrites, then the schema, the
CEL rules and our own validators judge. The servers themselves are tested in tests/wire.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import cel
import jsonschema_rs

from ingot.api import registry
from ingot.api.machinery.crd import version_schema
from ingot.api.object import Object

STAMPED = {"metadata": {"name": "it", "namespace": "here"}}


def make(api_version: str, kind: str, **fields: Any) -> Object:
    """An object with a name and a namespace."""
    return {"apiVersion": api_version, "kind": kind, **registry.copy_json(STAMPED), **fields}


def store(obj: Object, old: Object | None = None, *, status: bool = False) -> tuple[Object, list[str]]:
    """The object as it would be stored, and every fault found on the way, each as `path: message`."""
    schema = _schema(obj["apiVersion"], obj["kind"])
    faults = [f"{path}: unknown field" for path in _unknown(schema, obj, "")]
    if not status:
        obj = {key: value for key, value in obj.items() if key != "status"}
    stored = registry.admit(obj, old, "CREATE" if old is None else "UPDATE")
    faults += [
        f"{'.'.join(map(str, error.instance_path))}: {error.message}"
        for error in _checker(obj["apiVersion"], obj["kind"]).iter_errors(stored)
    ]
    if not faults:
        faults += _broken(schema, stored, old, "")
    if not faults:
        faults += [str(cause) for cause in registry.validate(stored, old)]
    return stored, faults


def stored(obj: Object, old: Object | None = None, *, status: bool = False) -> Object:
    """The object as it would be stored; a fault fails the test."""
    made, faults = store(obj, old, status=status)
    assert faults == []
    return made


def refusal(obj: Object, old: Object | None = None, *, status: bool = False) -> str:
    """Every fault of an object that is to be refused."""
    _, faults = store(obj, old, status=status)
    assert faults, "accepted"
    return "; ".join(faults)


@cache
def _schema(api_version: str, kind: str) -> Object:
    group, _, version = api_version.rpartition("/")
    info = registry.find(group, kind)
    assert info is not None
    found = info.version(version)
    assert found is not None
    return version_schema(info, found)


@cache
def _checker(api_version: str, kind: str) -> Any:
    return jsonschema_rs.Draft7Validator(_plain(_schema(api_version, kind)))


def _plain(schema: Any) -> Any:
    """A JSON schema that says what Kubernetes means by `nullable`."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in schema.items() if not key.startswith("x-")}
    if schema.get("nullable"):
        plain["type"] = [schema["type"], "null"]
    return plain


def _unknown(schema: Object, value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _unknown(schema.get("items", {}), each, f"{path}[{index}]")
    if not isinstance(value, dict) or path == "metadata":
        return
    for key, each in value.items():
        below = f"{path}.{key}" if path else key
        inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
        if inner is not None:
            yield from _unknown(inner, each, below)
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield below


def _broken(schema: Object, value: Any, old: Any, path: str) -> Iterator[str]:
    for rule in schema.get("x-kubernetes-validations", ()):
        transition = "oldSelf" in rule["rule"]
        if transition and old is None:
            continue
        said = {"self": value, "oldSelf": old} if transition else {"self": value}
        if not _rule(rule["rule"]).execute(said):
            yield f"{path}{rule.get('fieldPath', '')}".removeprefix(".") + f": {rule['message']}"
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _broken(schema["items"], each, None, f"{path}[{index}]")
    if isinstance(value, dict):
        for key, each in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if inner is not None:
                before = old.get(key) if isinstance(old, dict) else None
                yield from _broken(inner, each, before, f"{path}.{key}")


@cache
def _rule(expression: str) -> Any:
    return cel.compile(expression)
