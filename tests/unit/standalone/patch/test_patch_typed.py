import pytest
from hypothesis import given
from patch_samples import SCHEMA, SPEC, TYPED, specs, widget

from ingot.standalone.patch.typed import TypedSchema
from ingot.standalone.patch.types import TypedError


def compared(old, new):
    made = TYPED.compare(widget(old), widget(new))
    return made.changed.get("f:spec", {}), made.removed.get("f:spec", {})


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        ({"text": "a"}, {"text": "b"}, {"f:text": {}}, {}),
        ({"text": "a"}, {}, {}, {"f:text": {}}),
        ({}, {"map": {"a": "1"}}, {"f:map": {".": {}, "f:a": {}}}, {}),
        ({"map": {"a": "1"}}, {"map": {"a": "1", "b": "2"}}, {"f:map": {"f:b": {}}}, {}),
        ({"map": {"a": "1"}}, {"map": {}}, {}, {"f:map": {"f:a": {}}}),
        ({"map": {"a": "1"}}, {"map": None}, {}, {"f:map": {"f:a": {}}}),
        ({"map": None}, {"map": {"a": "1"}}, {"f:map": {"f:a": {}}}, {}),
        ({"map": {}}, {"map": None}, {"f:map": {}}, {}),
        ({"whole": {"a": "1"}}, {"whole": {"a": "2"}}, {"f:whole": {}}, {}),
        ({"list": ["a"]}, {"list": ["a", "b"]}, {"f:list": {}}, {}),
        ({"set": ["a", "b"]}, {"set": ["b", "c"]}, {"f:set": {'v:"c"': {}}}, {"f:set": {'v:"a"': {}}}),
        ({"set": ["a", "b"]}, {"set": ["b", "a"]}, {}, {}),
        (
            {"items": [{"name": "x", "value": "1"}]},
            {"items": [{"name": "x", "value": "2"}, {"name": "y"}]},
            {"f:items": {'k:{"name":"x"}': {"f:value": {}}, 'k:{"name":"y"}': {".": {}, "f:name": {}}}},
            {},
        ),
        (
            {"ports": [{"port": 80}]},
            {"ports": [{"port": 80, "protocol": "TCP"}]},
            {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:protocol": {}}}},
            {},
        ),
        ({"free": {"a": 1}}, {"free": {"a": True}}, {"f:free": {"f:a": {}}}, {}),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {"f:free": {"f:a": {".": {}, "f:b": {}}}}, {}),
        ({"free": {"a": {"b": 1}}}, {"free": {"a": 1}}, {"f:free": {"f:a": {}}}, {"f:free": {"f:a": {"f:b": {}}}}),
        ({"free": {"a": [1]}}, {"free": {"a": [2]}}, {"f:free": {"f:a": {}}}, {}),
        ({"either": 1}, {"either": "1"}, {"f:either": {}}, {}),
    ],
)
def test_comparison_by_the_sort_of_field(old, new, changed, removed):
    assert compared(old, new) == (changed, removed)


def test_items_with_one_key_are_compared_as_one():
    single, double = [{"name": "x", "value": "1"}], [{"name": "x", "value": "1"}, {"name": "x", "value": "2"}]
    step = 'k:{"name":"x"}'
    assert compared({"items": single}, {"items": double}) == (
        {"f:items": {step: {}}},
        {"f:items": {step: {".": {}, "f:name": {}, "f:value": {}}}},
    )
    assert compared({"items": double}, {"items": list(reversed(double))})[0] == {"f:items": {step: {}}}
    assert compared({"items": double}, {"items": double}) == ({}, {})


@given(specs, specs)
def test_what_is_equal_differs_in_nothing_and_what_differs_differs_in_something(old, new):
    changed, removed = compared(old, new)
    if TYPED.equal(widget(old), widget(new)):
        assert (changed, removed) == ({}, {})
    back_changed, back_removed = compared(new, old)
    assert bool(changed or removed) == bool(back_changed or back_removed)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"struct": {"a": "x"}}, {"f:struct": {"f:a": {}}}),
        ({"struct": {}}, {"f:struct": {}}),
        ({"struct": None}, {"f:struct": {}}),
        ({"map": {"a": "x"}}, {"f:map": {"f:a": {}}}),
        ({"structs": {"a": {"x": "1"}}}, {"f:structs": {"f:a": {".": {}, "f:x": {}}}}),
        ({"items": []}, None),
        ({"items": [{"name": "x"}]}, {"f:items": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}),
        ({"list": []}, {"f:list": {}}),
        ({"whole": {"a": "x"}}, {"f:whole": {}}),
        ({"free": {"a": {"b": [1]}}}, {"f:free": {"f:a": {".": {}, "f:b": {}}}}),
        ({"ports": [{"port": 80}]}, {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}}),
    ],
)
def test_members_of_a_configuration(spec, expected):
    assert TYPED.members(widget(spec)).get("f:spec") == expected


@pytest.mark.parametrize(
    ("base", "partial", "expected"),
    [
        ({"text": "a"}, {"number": 1}, {"text": "a", "number": 1}),
        ({"text": "a"}, {"text": None}, {"text": None}),
        ({"map": {"a": "1"}}, {"map": {"b": "2"}}, {"map": {"a": "1", "b": "2"}}),
        ({"map": {"a": "1"}}, {"map": {}}, {"map": {"a": "1"}}),
        ({"map": {"a": "1"}}, {"map": None}, {"map": {"a": "1"}}),
        ({"map": {}}, {"map": None}, {"map": None}),
        ({"whole": {"a": "1"}}, {"whole": {"b": "2"}}, {"whole": {"b": "2"}}),
        ({"list": ["a"]}, {"list": ["b"]}, {"list": ["b"]}),
        ({"set": ["a", "b"]}, {"set": ["c", "a"]}, {"set": ["c", "a", "b"]}),
        ({"set": ["a", "x", "b"]}, {"set": ["b", "a"]}, {"set": ["x", "b", "a"]}),
        ({"set": ["a", "b"]}, {"set": []}, {"set": ["a", "b"]}),
        (
            {"items": [{"name": "x", "value": "1"}, {"name": "y"}]},
            {"items": [{"name": "y", "value": "2"}, {"name": "x"}]},
            {"items": [{"name": "y", "value": "2"}, {"name": "x", "value": "1"}]},
        ),
        (
            {"items": [{"name": "x", "value": "1"}, {"name": "x"}, {"name": "y"}]},
            {"items": [{"name": "x", "value": "2"}]},
            {"items": [{"name": "x", "value": "2"}, {"name": "y"}]},
        ),
        ({"free": {"a": 1}}, {"free": {"a": {"b": 1}}}, {"free": {"a": {"b": 1}}}),
    ],
)
def test_merging(base, partial, expected):
    assert TYPED.merge(widget(base), widget(partial))["spec"] == expected


@given(specs, specs)
def test_merging_again_changes_nothing_and_merging_changes_neither_side(base, partial):
    before = (repr(base), repr(partial))
    merged = TYPED.merge(widget(base), widget(partial))
    assert TYPED.equal(TYPED.merge(merged, widget(partial)), merged)
    assert (repr(base), repr(partial)) == before


@pytest.mark.parametrize(
    ("spec", "gone", "expected"),
    [
        ({"text": "a", "number": 1}, {"f:text": {}}, {"number": 1}),
        ({"map": {"a": "1", "b": "2"}}, {"f:map": {"f:a": {}}}, {"map": {"b": "2"}}),
        ({"map": {"a": "1"}}, {"f:map": {"f:a": {}}}, {"map": None}),
        ({"set": ["a", "b"]}, {"f:set": {'v:"a"': {}}}, {"set": ["b"]}),
        (
            {"items": [{"name": "x", "value": "1"}, {"name": "y"}]},
            {"f:items": {'k:{"name":"x"}': {"f:value": {}}, 'k:{"name":"y"}': {".": {}, "f:name": {}}}},
            {"items": [{"name": "x"}]},
        ),
    ],
)
def test_removing(spec, gone, expected):
    assert TYPED.remove(widget(spec), {"f:spec": gone})["spec"] == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        ({"number": "x"}, ".spec.number: expected numeric (int or float), got string"),
        ({"number": True}, ".spec.number: expected numeric (int or float), got bool"),
        ({"flag": "x"}, ".spec.flag: expected boolean, got &{x}"),
        ({"struct": "x"}, ".spec.struct: expected map, got &{x}"),
        ({"items": "x"}, ".spec.items: expected list, got &{x}"),
        ({"unknown": 1}, ".spec.unknown: field not declared in schema"),
        (
            {"items": [{"name": "x", "value": 1}]},
            '.spec.items[name="x"].value: expected string, got &value.valueUnstructured{Value:1}',
        ),
        ({"items": [{"name": "x"}, {"name": "x"}]}, '.spec.items: duplicate entries for key [name="x"]'),
        (
            {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
        ),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        ({"items": [None]}, ".spec.items: element 0: associative list with keys may not have a null element"),
        ({"items": ["x"]}, ".spec.items: element 0: associative list with keys may not have non-map elements"),
        (
            {"items": [{"value": "x"}]},
            '.spec.items: element 0: associative list with keys has an element that omits key field "name" '
            "(and doesn't have default value)",
        ),
        ({"set": [{}]}, ".spec.set: element 0: associative list without keys has an element that's a map type"),
        ({"list": [1]}, ".spec.list[0]: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"text": 1, "flag": 2},
            "errors:\n  .spec.text: expected string, got &value.valueUnstructured{Value:1}\n"
            "  .spec.flag: expected boolean, got &{2}",
        ),
    ],
)
def test_faults_are_told_as_kubernetes_tells_them(spec, message):
    with pytest.raises(TypedError) as caught:
        TYPED.validate(widget(spec))
    assert str(caught.value) == message


def test_duplicates_are_allowed_where_asked():
    TYPED.validate(widget({"set": ["a", "a"]}), duplicates=True)


@given(specs)
def test_generated_objects_are_of_their_type(spec):
    TYPED.validate(widget(spec))


def test_a_set_is_mended_when_a_list_or_map_became_atomic():
    changed = {**SPEC["properties"], "items": {"type": "array", "items": {"type": "object"}}}
    changed["struct"] = {**changed["struct"], "x-kubernetes-map-type": "atomic"}
    properties = {**SCHEMA["properties"], "spec": {"type": "object", "properties": changed}}
    now = TypedSchema({"type": "object", "properties": properties})
    before = {"f:spec": {"f:items": {'k:{"name":"x"}': {".": {}, "f:name": {}}}, "f:struct": {"f:a": {}}, "f:text": {}}}
    assert now.reconcile(before) == {"f:spec": {"f:items": {}, "f:struct": {}, "f:text": {}}}
    assert TYPED.reconcile(before) is before


def test_named_fields_but_no_keys_and_items_become_members():
    before = {
        "f:spec": {
            "f:map": {"f:a": {}},
            "f:items": {'k:{"name":"x"}': {"f:value": {}}},
            "f:structs": {"f:a": {"f:x": {}}},
        }
    }
    assert TYPED.with_named_fields(before) == {
        "f:spec": {
            ".": {},
            "f:map": {".": {}, "f:a": {}},
            "f:items": {".": {}, 'k:{"name":"x"}': {"f:value": {}}},
            "f:structs": {".": {}, "f:a": {"f:x": {}}},
        }
    }


def test_a_schema_may_hold_itself():
    node = {"type": "object", "properties": {"name": {"type": "string"}}}
    node["properties"]["children"] = {"type": "array", "items": node}
    node["properties"]["child"] = {"allOf": [node], "default": {}}
    typed = TypedSchema(node)
    made = typed.compare({}, {"child": {"child": {"name": "x"}}})
    assert made.changed == {"f:child": {".": {}, "f:child": {".": {}, "f:name": {}}}}


def test_merge_keys_of_strategic_patches_count_where_no_list_type_is_given():
    item = {"type": "object", "properties": {"uid": {"type": "string"}}, "x-kubernetes-map-type": "atomic"}
    held = {
        "type": "array",
        "items": item,
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "uid",
    }
    typed = TypedSchema({"type": "object", "properties": {"owners": held}})
    assert typed.members({"owners": [{"uid": "1"}]}) == {"f:owners": {'k:{"uid":"1"}': {}}}


def test_embedded_resources_have_metadata_even_where_nothing_else_is_known():
    held = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    typed = TypedSchema({"type": "object", "properties": {"metadata": SCHEMA["properties"]["metadata"], "pod": held}})
    with pytest.raises(TypedError, match=r"\.pod\.metadata\.bogus: field not declared in schema"):
        typed.validate({"pod": {"spec": {"anything": 1}, "metadata": {"bogus": 1}}})
