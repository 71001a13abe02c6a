"""What an API server does to an object of ours between the wire and the store, for tests of kinds alone.

It follows kube-apiserver: unknown fields are told, status goes on creation, admission rewrites, then the schema, the
CEL rules and our own validators judge. The servers themselves are tested in tests/wire.
"""

import re
from functools import cache
from typing import Any

from ingot.api import registry
from ingot.api.machinery.crd import version_schema
from ingot.api.object import Object
from ingot.standalone.schema.schema import Schema

# What a server puts before the words of a rule.
VALUE = re.compile(r'Invalid value: "(object|array|string)": ')
STAMPED = {"metadata": {"name": "it", "namespace": "here"}}


def make(api_version: str, kind: str, **fields: Any) -> Object:
    """An object with a name and a namespace."""
    return {"apiVersion": api_version, "kind": kind, **registry.copy_json(STAMPED), **fields}


def store(obj: Object, old: Object | None = None, *, status: bool = False) -> tuple[Object, list[str]]:
    """The object as it would be stored, and every fault found on the way, each as `path: message`."""
    schema = _schema(obj["apiVersion"], obj["kind"])
    faults = [f"{path}: unknown field" for path in schema.unknown(obj)]
    if not status:
        obj = {key: value for key, value in obj.items() if key != "status"}
    stored = registry.admit(obj, old, "CREATE" if old is None else "UPDATE")
    causes = schema.validate(stored, old) or schema.validate_rules(stored, old) or registry.validate(stored, old)
    return stored, faults + [VALUE.sub("", str(cause), count=1) for cause in causes]


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
def _schema(api_version: str, kind: str) -> Schema:
    group, _, version = api_version.rpartition("/")
    info = registry.find(group, kind)
    assert info is not None
    found = info.version(version)
    assert found is not None
    return Schema(version_schema(info, found))
