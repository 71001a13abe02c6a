"""What must hold for any object and any schema, however strange."""

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone.schema import Schema, compiled, custom, defaulting, pruning, validator
from ingot.standalone.schema.node import build

RECORDED = Path(__file__).parent / "recorded"
CRD = json.loads((RECORDED / "validation.jsonl").open().readline())["crd"]
RULED = json.loads((RECORDED / "rules.jsonl").open().readline())["crd"]


def resolved(crd: Object) -> Object:
    custom.default_crd(crd)
    return custom.definition_of(crd).versions["v1"].schema


RESOLVED = resolved(CRD)
SCHEMA, RULES = Schema(RESOLVED), Schema(resolved(RULED))
ROOT = build(RESOLVED)
VALID, KNOWN, WITHOUT_NULLS = compiled.values(ROOT), compiled.known(ROOT), compiled.nulls(ROOT)

SPEC = RESOLVED["properties"]["spec"]["properties"]
RULED_SPEC = RULES.resolved["properties"]["spec"]["properties"]
NAMES = st.sampled_from(["a", "b", "name", "port", "v", "known", "kind", "apiVersion", "metadata", "spec", "zz"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 12)
    | st.sampled_from([2**63, -(2**63) - 1, 1.0, 1.5, 0.5, 1e17, 2.5])
    | st.sampled_from(["", "a", "ab", "abcdef", "x", "10%", "v1", "2020-01-01T00:00:00Z", "1h", "é"])
    | st.text(max_size=4)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)


def objects(fields: Object, kind: str) -> st.SearchStrategy[Object]:
    spec = st.dictionaries(st.sampled_from([*fields, "zz"]), JSON, max_size=4)
    return spec.map(
        lambda made: {
            "apiVersion": "ora.cle/v1",
            "kind": kind,
            "metadata": {"name": "x", "namespace": "default"},
            "spec": made,
        }
    )


@given(objects(SPEC, "Thing"))
def test_what_is_pruned_has_nothing_left_to_prune(obj: Object) -> None:
    before = copy.deepcopy(obj)
    paths = SCHEMA.unknown(obj)
    assert obj == before
    SCHEMA.prune(obj)
    assert (obj == before) == (not paths)
    assert SCHEMA.unknown(obj) == []
    pruned = copy.deepcopy(obj)
    SCHEMA.prune(obj)
    assert obj == pruned


@given(objects(SPEC, "Thing"))
def test_what_is_defaulted_has_nothing_left_to_default(obj: Object) -> None:
    SCHEMA.default(obj)
    defaulted = copy.deepcopy(obj)
    SCHEMA.default(obj)
    assert obj == defaulted


@given(objects(SPEC, "Thing"), objects(SPEC, "Thing"))
@settings(max_examples=60)
def test_any_object_can_be_checked(obj: Object, old: Object) -> None:
    for causes in (SCHEMA.check(obj), SCHEMA.check(obj, old), SCHEMA.check_status(obj, old)):
        assert all(isinstance(cause, Cause) and cause.field and cause.message for cause in causes)
    assert SCHEMA.malformed(obj) is None or SCHEMA.malformed(obj) != ""


@given(objects(RULED_SPEC, "Ruled"), objects(RULED_SPEC, "Ruled"))
@settings(max_examples=60)
def test_rules_can_be_asked_about_any_object(obj: Object, old: Object) -> None:
    # Rules never see such objects in the server, which asks them only about valid ones.
    assert isinstance(RULES.validate_rules(obj, old), list)


@given(objects(SPEC, "Thing"))
@example({"spec": {"emb": {"metadata": [{"a": 1}]}}})
@settings(max_examples=100)
def test_the_quick_answers_are_never_too_kind(obj: Object) -> None:
    if VALID(obj):
        assert validator.causes(obj, ROOT) == []
    if KNOWN(obj):
        assert pruning.unknown(obj, ROOT) == []
    if WITHOUT_NULLS(obj):
        before = copy.deepcopy(obj)
        defaulting.drop_nulls(obj, ROOT)
        assert obj == before


@given(objects(SPEC, "Thing"))
def test_an_update_that_changes_nothing_is_let_pass(obj: Object) -> None:
    SCHEMA.prune(obj)
    SCHEMA.default(obj)
    causes = SCHEMA.validate(obj, copy.deepcopy(obj))
    # Embedded resources are held to their rules whatever they were before, and so is an item without its keys.
    assert all(".emb" in cause.field or ".map" in cause.field for cause in causes)


KEYWORDS = st.sampled_from(
    [
        *("type", "properties", "items", "additionalProperties", "required", "enum", "default", "nullable", "pattern"),
        *("format", "minimum", "maximum", "maxLength", "maxItems", "allOf", "anyOf", "oneOf", "not", "title", "$ref"),
        *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    ]
)
TYPES = st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null", "foo", ""])
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    SCALARS | TYPES | st.just([{"rule": "self.a > 1"}]) | st.just([{"rule": "self == oldSelf"}]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYWORDS | NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYWORDS, ANYTHING, max_size=5))
@settings(max_examples=100)
def test_any_schema_can_be_checked(schema: Object) -> None:
    crd = copy.deepcopy(CRD)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    causes = custom.check_crd(crd)
    assert all(isinstance(cause, Cause) and cause.message for cause in causes)
    if not causes:
        made = Schema(custom.definition_of(crd).versions["v1"].schema)
        assert isinstance(made.check({"apiVersion": "v1", "kind": "A", "metadata": {}, "a": 1}), list)
