"""Answers of kube-apiserver 1.32.13, recorded: the same object must be stored, pruned, defaulted or refused alike."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.api.status import MOST_CAUSES
from ingot.standalone.builtin import meta
from ingot.standalone.schema import Schema, custom

RECORDED = Path(__file__).parent / "recorded"


def rows(name: str) -> tuple[Object, list[Object]]:
    first, *rest = [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]
    return first, rest


def kind(crd: Object) -> Any:
    custom.default_crd(crd)
    definition = custom.definition_of(crd)
    return definition, Schema(definition.versions["v1"].schema)


VALIDATION, VALIDATED = rows("validation.jsonl")
RULES, RULED = rows("rules.jsonl")
THING, THINGS = kind(VALIDATION["crd"])
RULED_KIND, RULED_SCHEMA = kind(RULES["crd"])


def whole(given: Object, named: str) -> Object:
    return {
        "apiVersion": "ora.cle/v1",
        "kind": named,
        "metadata": {"name": "x", "namespace": "default"},
        **copy.deepcopy(given),
    }


def shown(causes: list[Any]) -> list[list[str]]:
    return sorted([cause.reason, cause.field, cause.message] for cause in causes)


@pytest.mark.parametrize("row", VALIDATED, ids=lambda row: json.dumps(row["given"])[:80])
def test_an_object_is_stored_or_refused_as_recorded(row: Object) -> None:
    obj = whole(row["given"], "Thing")
    assert THINGS.malformed(obj) == row.get("malformed")
    if "malformed" in row:
        return
    assert THINGS.unknown(obj) == row.get("unknown", [])
    THINGS.prune(obj)
    assert THINGS.unknown(obj) == []
    THINGS.default(obj)
    obj.pop("status", None)
    causes = meta.validate(obj, None, True, kubernetes=False) + THINGS.check(obj) + THING.validate(obj, None)
    assert shown(causes) == row.get("causes", [])
    if "stored" in row:
        assert {key: obj[key] for key in obj if key not in ("apiVersion", "kind", "metadata")} == row["stored"]


@pytest.mark.parametrize("row", RULED, ids=lambda row: json.dumps(row["new"])[:80])
def test_rules_hold_or_fail_as_recorded(row: Object) -> None:
    new = whole(row["new"], "Ruled")
    RULED_SCHEMA.prune(new)
    RULED_SCHEMA.default(new)
    if row.get("status"):
        causes = RULED_SCHEMA.check_status(new, whole(row["old"], "Ruled"))
    else:
        causes = RULED_SCHEMA.check(new, whole(row["old"], "Ruled") if "old" in row else None)
    assert shown(causes) == row["causes"]


def test_defaults_are_not_shared_between_objects() -> None:
    one, other = whole({"spec": {"def": {}}}, "Thing"), whole({"spec": {"def": {}}}, "Thing")
    THINGS.default(one)
    one["spec"]["def"]["o"]["p"] = 99
    THINGS.default(other)
    assert other["spec"]["def"]["o"] == {"p": 7}


def test_validation_leaves_the_object_as_it_is() -> None:
    obj = whole({"spec": {"str": 5, "set": ["a", "a"], "zz": {"y": 1}}}, "Thing")
    before = copy.deepcopy(obj)
    THINGS.unknown(obj)
    THINGS.check(obj, before)
    assert obj == before


def test_metadata_is_pruned_by_its_own_schema_and_keeps_its_managed_fields() -> None:
    managed = [{"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {"f:str": {}}}}]
    obj = whole({}, "Thing")
    obj["metadata"] |= {"foo": 1, "managedFields": managed, "labels": {"a": "b"}}
    assert THINGS.unknown(obj) == ["metadata.foo"]
    THINGS.prune(obj)
    assert obj["metadata"] == {
        "name": "x",
        "namespace": "default",
        "managedFields": managed,
        "labels": {"a": "b"},
    }


def test_no_more_faults_are_looked_for_than_are_told() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    found = Schema({"type": "object", "properties": {"spec": numbers}}).validate({"spec": ["x"] * 5000})
    assert len(found) == MOST_CAUSES + 1
