"""Custom resource definitions that kube-apiserver 1.32.13 accepted or refused, recorded."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from ingot.api.object import Object
from ingot.standalone.builtin import meta
from ingot.standalone.schema import custom

RECORDED = Path(__file__).parent / "recorded"
ROOT = "spec.validation.openAPIV3Schema"
RULES = "x-kubernetes-validations"


def rows(name: str) -> list[Object]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def crd_of(schema: Object | None = None) -> Object:
    schema = schema or {"type": "object", "properties": {"a": {"type": "integer"}}}
    whole = {"type": "object", "properties": {"spec": schema}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}
    return {
        "metadata": {"name": "bads.ora.cle"},
        "spec": {
            "group": "ora.cle",
            "names": {"plural": "bads", "kind": "Bad"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def checked(crd: Object, old: Object | None = None) -> list[Any]:
    crd = copy.deepcopy(crd)
    custom.default_crd(crd)
    return list(dict.fromkeys(meta.validate(crd, None, False) + custom.check_crd(crd, old)))


@pytest.mark.parametrize("row", rows("definitions.jsonl"), ids=lambda row: row["name"])
def test_a_definition_is_accepted_or_refused_as_recorded(row: Object) -> None:
    crd = crd_of()
    crd["metadata"] = row.get("metadata", crd["metadata"])
    crd["spec"] = {key: value for key, value in (crd["spec"] | row["spec"]).items() if value is not None}
    found = sorted([cause.reason, cause.field, cause.message] for cause in checked(crd))
    # Of a message that shows a structure of Go with its addresses only the end is recorded, after an ellipsis.
    assert len(found) == len(row["causes"]), found
    for ours, theirs in zip(found, sorted(row["causes"]), strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[2] == theirs[2] or (theirs[2][0] == "…" and ours[2].endswith(theirs[2][1:]))


EXPRESSIONS = rows("expressions.jsonl")


@pytest.mark.parametrize("row", EXPRESSIONS[1:], ids=lambda row: json.dumps(row["rule"])[:80])
def test_an_expression_is_compiled_or_refused_as_recorded(row: Object) -> None:
    rule = {"rule": row["rule"]} if isinstance(row["rule"], str) else row["rule"]
    causes = checked(crd_of({**EXPRESSIONS[0]["schema"], RULES: [rule]}))
    place = f"{ROOT}.properties[spec].{RULES}[0]."
    found = []
    for cause in causes:
        assert cause.field.startswith(place)
        shown, mark, detail = cause.message.partition("OptionalOldSelf:")
        message = detail.split("}: ", 1)[1] if mark else shown
        # How a parser words a syntax error is its own affair; where it finds it is not.
        message = message.partition("Syntax error")[0] + "Syntax error" * ("Syntax error" in message)
        found.append([cause.field.removeprefix(place), message])
    assert sorted(found) == row["faults"]


COSTS = rows("costs.jsonl")


@pytest.mark.parametrize("row", COSTS[1:], ids=lambda row: json.dumps(row.get("rules", row))[:80])
def test_a_rule_costs_what_was_recorded(row: Object) -> None:
    schema = row.get("schema") or {**COSTS[0]["schema"], RULES: row["rules"]}
    found = sorted([cause.field.replace(ROOT, "$"), cause.message] for cause in checked(crd_of(schema)))
    assert found == row["causes"]


@pytest.fixture
def stored() -> Object:
    crd = crd_of()
    custom.default_crd(crd)
    crd["status"] = custom.established(crd)
    return crd


@pytest.mark.parametrize(
    ("path", "value", "field", "message"),
    [
        (("scope",), "Cluster", "spec.scope", 'Invalid value: "Cluster": field is immutable'),
        (("names", "kind"), "Other", "spec.names.kind", 'Invalid value: "Other": field is immutable'),
        (("names", "plural"), "others", "spec.names.plural", 'Invalid value: "others": field is immutable'),
        (("group",), "x.y", "spec.group", 'Invalid value: "x.y": field is immutable'),
    ],
)
def test_what_is_served_keeps_its_names(
    stored: Object, path: tuple[str, ...], value: str, field: str, message: str
) -> None:
    new = copy.deepcopy(stored)
    target = new["spec"]
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    causes = custom.check_crd(new, stored)
    assert [(cause.field, cause.message) for cause in causes] == [(field, message)]


def test_scope_and_kind_may_change_until_the_definition_is_served(stored: Object) -> None:
    stored["status"]["conditions"] = []
    new = copy.deepcopy(stored)
    new["spec"]["scope"] = "Cluster"
    assert custom.check_crd(new, stored) == []


def test_a_stored_version_cannot_be_renamed_away(stored: Object) -> None:
    new = copy.deepcopy(stored)
    new["spec"]["versions"][0]["name"] = "v9"
    new["status"]["storedVersions"] = ["v1", "v9"]
    (cause,) = custom.check_crd(new, stored)
    assert (cause.field, cause.message) == (
        "status.storedVersions[0]",
        'Invalid value: "v1": must appear in spec.versions',
    )


def test_an_unchanged_schema_may_cost_what_it_costs(stored: Object) -> None:
    dear = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
    dear[RULES] = [{"rule": "self.l.all(x, x.contains('abc'))"}]
    crd = crd_of(dear)
    custom.default_crd(crd)
    alone = [cause for cause in custom.check_crd(crd) if "estimated rule cost exceeds" in cause.message]
    again = [cause for cause in custom.check_crd(crd, crd) if "estimated rule cost exceeds" in cause.message]
    assert alone
    assert not again


@pytest.mark.parametrize("below", [{"type": 5}, 7, {"properties": []}, {"required": "x"}, {"allOf": [None]}])
def test_what_hides_in_items_is_read_too(below: Any) -> None:
    (cause,) = checked(crd_of({"type": "array", "items": below}))
    assert cause.field == ROOT
    assert cause.message.startswith('Invalid value: "": json: ')


def test_a_schema_can_be_too_deep() -> None:
    schema: Object = {"type": "string"}
    for _ in range(400):
        schema = {"type": "array", "items": schema}
    crd = crd_of(schema)
    custom.default_crd(crd)
    (cause,) = custom.check_crd(crd)
    assert "exceeded max depth" in cause.message
