import copy
import json

import pytest
from hypothesis import given
from patch_samples import LATER, NOW, full_specs, manager, owned, specs, stored, widget

from ingot.api.status import ApiError
from ingot.standalone.patch import apply
from ingot.standalone.patch.lastapplied import ANNOTATION
from ingot.standalone.patch.values import same

FIELDS = manager()


def applied(live, spec, who="m", force=False, now=NOW, fields=FIELDS, **metadata):
    made = apply.server_side(
        fields, live, widget(spec, fields.api_version.partition("/")[2], **metadata), who, force, now
    )
    return stored(made, made["metadata"].get("managedFields", []))


def updated(live, spec, who="u"):
    new = {**copy.deepcopy(live), "spec": spec}
    return stored(new, FIELDS.update(live, new, who, NOW))


def test_applying_what_is_not_there_creates_it():
    made = apply.server_side(
        FIELDS, None, widget({"text": "a", "items": [{"name": "x"}]}, labels={"l": "1"}), "m", False, NOW
    )
    fields = {
        "f:metadata": {"f:labels": {"f:l": {}}},
        "f:spec": {"f:text": {}, "f:items": {'k:{"name":"x"}': {".": {}, "f:name": {}}}},
    }
    assert made == widget(
        {"text": "a", "items": [{"name": "x"}]},
        labels={"l": "1"},
        managedFields=[
            {
                "manager": "m",
                "operation": "Apply",
                "apiVersion": "test/v1",
                "time": NOW,
                "fieldsType": "FieldsV1",
                "fieldsV1": fields,
            }
        ],
    )


def test_managers_share_what_they_agree_on_and_keep_what_others_apply():
    live = applied(None, {"text": "a", "map": {"a": "1"}}, "one")
    live = applied(live, {"text": "a", "map": {"b": "2"}}, "two", now=LATER)
    assert live["spec"] == {"text": "a", "map": {"a": "1", "b": "2"}}
    assert owned(live["metadata"]["managedFields"]) == {
        "one": {"f:spec": {"f:text": {}, "f:map": {"f:a": {}}}},
        "two": {"f:spec": {"f:text": {}, "f:map": {"f:b": {}}}},
    }


def test_what_a_manager_leaves_out_goes_unless_another_owns_it():
    live = applied(None, {"text": "a", "number": 1, "items": [{"name": "x", "value": "1"}, {"name": "y"}]}, "one")
    live = applied(live, {"number": 1, "items": [{"name": "x"}]}, "two")
    live = applied(live, {"flag": True}, "one")
    assert live["spec"] == {"flag": True, "number": 1, "items": [{"name": "x"}]}


def test_what_no_one_owns_stays_in_a_map_that_is_still_applied_and_goes_with_one_that_is_not():
    live = applied(None, {"map": {"a": "1"}}, "one")
    live["spec"]["map"]["set-by-the-server"] = "x"
    assert applied(live, {"map": {"b": "2"}}, "one")["spec"] == {"map": {"b": "2", "set-by-the-server": "x"}}
    assert applied(live, {"text": "a"}, "one")["spec"] == {"text": "a"}


def test_a_map_that_is_applied_empty_after_it_was_not_becomes_null():
    # Kubernetes does so too, and refuses it then for custom resources that do not allow null there.
    live = applied(None, {"map": {"a": "1"}, "text": "a"}, "one")
    assert applied(live, {"map": {}, "text": "a"}, "one")["spec"] == {"map": None, "text": "a"}


def test_one_conflict_is_told_in_one_line():
    live = updated(applied(None, {"text": "a"}, "one"), {"text": "b"}, "editor")
    with pytest.raises(ApiError) as caught:
        applied(live, {"text": "c"}, "one")
    error = caught.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == 'Apply failed with 1 conflict: conflict with "editor" using test/v1: .spec.text'
    assert error.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "editor" using test/v1',
                "field": ".spec.text",
            }
        ]
    }


def test_many_conflicts_are_grouped_by_manager():
    live = applied(None, {"text": "a", "items": [{"name": "x", "value": "1"}]}, "one")
    live = updated(live, {**live["spec"], "number": 1}, "editor")
    with pytest.raises(ApiError) as caught:
        applied(live, {"text": "b", "number": 2, "items": [{"name": "x", "value": "2"}]}, "two")
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "editor" using test/v1:\n- .spec.number\n'
        'conflicts with "one":\n- .spec.text\n- .spec.items[name="x"].value'
    )
    assert len(caught.value.details["causes"]) == 3


def test_force_takes_the_fields_over():
    live = applied(None, {"text": "a", "number": 1}, "one")
    live = applied(live, {"text": "b"}, "two", force=True)
    assert live["spec"] == {"text": "b", "number": 1}
    assert owned(live["metadata"]["managedFields"]) == {
        "one": {"f:spec": {"f:number": {}}},
        "two": {"f:spec": {"f:text": {}}},
    }


def test_the_first_apply_finds_an_owner_for_what_was_there_before():
    live = stored(widget({"text": "a"}), [])
    del live["metadata"]["managedFields"]
    with pytest.raises(ApiError, match='conflict with "before-first-apply" using test/v1'):
        applied(live, {"text": "b"})
    made = applied(live, {"number": 1})
    assert owned(made["metadata"]["managedFields"]) == {
        "before-first-apply": {"f:spec": {".": {}, "f:text": {}}},
        "m": {"f:spec": {"f:number": {}}},
    }


def test_applying_the_same_again_returns_the_same_object():
    live = applied(None, {"text": "a"})
    assert apply.server_side(FIELDS, live, widget({"text": "a"}), "m", False, LATER) == live


def test_joining_without_a_change_has_no_time():
    live = applied(applied(None, {"text": "a"}, "one"), {"text": "a"}, "two", now=LATER)
    assert [(entry["manager"], entry.get("time")) for entry in live["metadata"]["managedFields"]] == [
        ("two", None),
        ("one", NOW),
    ]


def test_a_configuration_without_fields_has_no_entry():
    live = applied(applied(None, {"text": "a"}, "one"), None, "one", now=LATER)
    assert live["metadata"]["managedFields"] == []
    assert "text" not in (live.get("spec") or {})


def test_status_is_applied_through_its_subresource_only():
    live = applied(None, {"text": "a"}, "one")
    config = {**widget({"text": "ignored"}), "status": {"phase": "x"}}
    made = apply.server_side(manager("status"), live, config, "two", True, LATER)
    assert owned(made["metadata"]["managedFields"])["two"] == {"f:status": {"f:phase": {}}}
    assert owned(made["metadata"]["managedFields"])["one"] == {"f:spec": {"f:text": {}}}
    assert made["metadata"]["managedFields"][1]["subresource"] == "status"


def test_an_applier_may_change_its_version():
    both = ("v1", "v2")
    live = applied(None, {"text": "a", "number": 1}, fields=manager(versions=both))
    live["apiVersion"] = "test/v2"
    live = applied(live, {"text": "a"}, now=LATER, fields=manager(version="v2", versions=both))
    assert live["spec"] == {"text": "a"}
    assert [entry["apiVersion"] for entry in live["metadata"]["managedFields"]] == ["test/v2"]


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        ({**widget({}), "kind": "Other"}, 400, "invalid object type: test/v1, Kind=Other"),
        ({**widget({}), "apiVersion": "v1"}, 400, "invalid object type: /v1, Kind=Widget"),
        ({"metadata": {"name": "w"}}, 400, "invalid object type: /, Kind="),
        ({**widget({}), "apiVersion": 1}, 400, "invalid object type: /, Kind=Widget"),
        (widget({}, managedFields=[]), 400, "metadata.managedFields must be nil"),
        (
            widget({"text": 1}, namespace="n"),
            500,
            "failed to create typed patch object (n/w; test/v1, Kind=Widget): "
            ".spec.text: expected string, got &value.valueUnstructured{Value:1}",
        ),
    ],
)
def test_what_cannot_be_applied(config, code, message):
    with pytest.raises(ApiError) as caught:
        apply.server_side(FIELDS, None, config, "m", False, NOW)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_kubectl_may_take_over_what_it_applied_from_the_client():
    before = widget({"text": "a", "number": 1})
    live = stored({**before, "metadata": {**before["metadata"], "annotations": {ANNOTATION: json.dumps(before)}}}, [])
    live["metadata"]["managedFields"] = FIELDS.update(None, live, "kubectl-client-side-apply", NOW)
    after = widget({"text": "<b>"})
    made = apply.server_side(FIELDS, live, after, "kubectl", False, LATER)
    assert made["spec"] == {"text": "<b>", "number": 1}
    text = made["metadata"]["annotations"][ANNOTATION]
    assert (
        text == '{"apiVersion":"test/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"text":"\\u003cb\\u003e"}}\n'
    )
    with pytest.raises(ApiError, match='conflict with "kubectl-client-side-apply"'):
        apply.server_side(FIELDS, live, after, "other", False, LATER)


def test_kubectl_may_not_take_over_what_changed_since():
    before = widget({"text": "a", "number": 1})
    live = stored({**before, "metadata": {**before["metadata"], "annotations": {ANNOTATION: json.dumps(before)}}}, [])
    live["metadata"]["managedFields"] = FIELDS.update(None, live, "kubectl-client-side-apply", NOW)
    live = updated(live, {"text": "edited", "number": 1}, "editor")
    with pytest.raises(ApiError) as caught:
        apply.server_side(FIELDS, live, widget({"text": "b", "number": 2}), "kubectl", False, LATER)
    assert caught.value.message.endswith('conflict with "editor" using test/v1: .spec.text')


@given(specs, specs, specs)
def test_applying_twice_is_applying_once(before, mine, theirs):
    live = applied(updated(applied(None, before, "one"), mine), theirs, "two", force=True)
    again = apply.server_side(FIELDS, live, widget(theirs), "two", False, LATER)
    assert again == live


@given(full_specs, full_specs)
def test_a_sole_manager_gets_exactly_what_it_applies(before, after):
    assert same(applied(applied(None, before), after, now=LATER).get("spec") or {}, after)


@given(specs, specs)
def test_arguments_are_not_changed_and_nothing_is_shared(before, after):
    live, config = applied(None, before, "one"), widget(after)
    kept = copy.deepcopy((live, config))
    made = apply.server_side(FIELDS, live, config, "two", True, LATER)
    _scribble(made.get("spec"))
    assert (live, config) == kept


def _scribble(value):
    if isinstance(value, dict):
        for inner in value.values():
            _scribble(inner)
        value["scribble"] = 1
    elif isinstance(value, list):
        for inner in value:
            _scribble(inner)
        value.append("scribble")
