import copy

import pytest
from hypothesis import given
from patch_samples import LATER, NOW, SCHEMA, manager, owned, specs, stored, widget

from ingot.standalone.patch import fieldset
from ingot.standalone.patch.managers import MAX_UPDATERS, FieldManager, manager_name
from ingot.standalone.patch.typed import TypedSchema


def created(spec, who="m", **metadata):
    obj = widget(spec, **metadata)
    return stored(obj, manager().update(None, obj, who, NOW))


def updated(live, spec, who="m", now=LATER, fields=None):
    new = {**copy.deepcopy(live), "spec": spec}
    return stored(new, (fields or manager()).update(live, new, who, now))


def test_the_creator_manages_all_but_what_the_server_sets():
    obj = created({"text": "a", "map": {"k": "v"}}, labels={"app": "x"}, generateName="w-")
    assert obj["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": "test/v1",
            "time": NOW,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}, "f:generateName": {}},
                "f:spec": {".": {}, "f:text": {}, "f:map": {".": {}, "f:k": {}}},
            },
        }
    ]


def test_structs_that_are_always_there_are_not_new():
    typed = TypedSchema(SCHEMA, zero={"metadata": {"creationTimestamp": None}, "spec": {}, "status": {}})
    fields = FieldManager("Widget", "test/v1", {"test/v1": typed})
    obj = {**widget({"text": "a"}, creationTimestamp=None), "status": {}}
    assert owned(fields.update(None, obj, "m", NOW)) == {"m": {"f:spec": {"f:text": {}}}}


def test_a_changed_field_goes_from_its_manager_to_the_one_who_changed_it():
    live = updated(created({"text": "a", "number": 1}, "first"), {"text": "b", "number": 1}, "second")
    managed = live["metadata"]["managedFields"]
    assert owned(managed) == {"first": {"f:spec": {".": {}, "f:number": {}}}, "second": {"f:spec": {"f:text": {}}}}
    assert [entry["time"] for entry in managed] == [NOW, LATER]


def test_a_removed_field_goes_from_all_and_leaves_no_empty_entry():
    live = updated(created({"number": 1}, "first"), {"text": "b", "number": 1}, "second")
    live = updated(live, {"number": 1}, "third")
    assert owned(live["metadata"]["managedFields"]) == {"first": {"f:spec": {".": {}, "f:number": {}}}}


def test_writing_what_is_there_changes_nothing():
    live = created({"text": "a"})
    assert updated(live, {"text": "a"}, "other") == live


def test_the_same_manager_keeps_one_entry_and_gets_a_new_time():
    live = updated(created({"text": "a"}), {"text": "a", "number": 1})
    assert [entry["time"] for entry in live["metadata"]["managedFields"]] == [LATER]
    assert owned(live["metadata"]["managedFields"]) == {"m": {"f:spec": {".": {}, "f:text": {}, "f:number": {}}}}


def test_subresources_and_versions_have_entries_of_their_own():
    live = created({"text": "a"})
    new = {**copy.deepcopy(live), "status": {"phase": "x"}, "spec": {"text": "ignored"}}
    managed = manager("status").update(live, new, "m", LATER)
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in managed] == [
        (None, {"f:spec": {".": {}, "f:text": {}}}),
        ("status", {"f:status": {".": {}, "f:phase": {}}}),
    ]
    second = manager(version="v2", versions=("v1", "v2"))
    new = {**copy.deepcopy(live), "apiVersion": "test/v2", "spec": {"text": "a", "number": 1}}
    managed = second.update({**live, "apiVersion": "test/v2"}, new, "m", LATER)
    assert [(entry["apiVersion"], entry["fieldsV1"]) for entry in managed] == [
        ("test/v1", {"f:spec": {".": {}, "f:text": {}}}),
        ("test/v2", {"f:spec": {"f:number": {}}}),
    ]


def test_entries_of_versions_that_are_gone_are_dropped():
    live = created({"text": "a"})
    live["metadata"]["managedFields"][0]["apiVersion"] = "test/v0"
    live = updated(live, {"text": "b"})
    assert [entry["apiVersion"] for entry in live["metadata"]["managedFields"]] == ["test/v1"]


def test_fields_that_a_request_cannot_change_are_not_taken_from_their_manager():
    live = {**created({"text": "a"}), "status": {"phase": "x"}}
    live["metadata"]["managedFields"] = manager("status").update(created({"text": "a"}), live, "controller", NOW)
    new = {**copy.deepcopy(live), "status": {"phase": "tampered"}}
    assert manager().update(live, new, "user", LATER) == live["metadata"]["managedFields"]


@pytest.mark.parametrize("sent", [[], [{}]])
def test_a_reset_forgets_all_managers_until_the_next_apply(sent):
    live = created({"text": "a"})
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = sent
    assert manager().update(live, new, "m", LATER) == []
    untracked = copy.deepcopy(live)
    del untracked["metadata"]["managedFields"]
    assert manager().update(untracked, {**untracked, "spec": {"text": "b"}}, "m", LATER) == []


def test_entries_of_the_request_count_if_they_can_be_read():
    live = created({"text": "a"})
    mine = {"manager": "hand", "operation": "Update", "apiVersion": "test/v1", "fieldsType": "FieldsV1", "time": NOW}
    new = copy.deepcopy(live)
    new["metadata"]["managedFields"] = [{**mine, "fieldsV1": {"f:spec": {".": {}}}}]
    assert manager().update(live, new, "m", LATER) == [{**mine, "fieldsV1": {"f:spec": {}}}]
    new["metadata"]["managedFields"] = [{**mine, "operation": "Nonsense"}]
    assert manager().update(live, new, "m", LATER) == live["metadata"]["managedFields"]
    new["metadata"]["managedFields"] = [{**mine, "fieldsV1": {"f:spec": {}}}]
    assert manager("status").update(live, new, "m", LATER) == live["metadata"]["managedFields"]


def test_an_object_that_is_not_of_its_type_has_no_managers():
    assert manager().update(None, widget({"items": [{"value": "no key"}]}), "m", NOW) == []


def test_the_oldest_updaters_are_merged_beyond_the_cap():
    live = created({"map": {"k": "v"}}, "m00")
    for number in range(1, MAX_UPDATERS + 3):
        spec = {"map": {**live["spec"]["map"], f"k{number}": "v"}}
        live = updated(live, spec, f"m{number:02}", f"2026-01-01T00:00:{number:02}Z")
    managed = live["metadata"]["managedFields"]
    assert len(managed) == MAX_UPDATERS
    assert managed[0]["manager"] == "ancient-changes"
    assert managed[0]["time"] == "2026-01-01T00:00:03Z"
    assert managed[0]["fieldsV1"] == {
        "f:spec": {".": {}, "f:map": {".": {}, "f:k": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}}
    }


@given(specs, specs)
def test_every_leaf_has_an_owner_and_no_owner_has_what_is_not_there(before, after):
    live = updated(created(before, "first"), after, "second")
    every = {}
    for fields in owned(live["metadata"]["managedFields"]).values():
        every = fieldset.union(every, fields)
    present = manager().schema.compare({}, {"spec": after}).changed
    assert fieldset.difference(every, present) == {}
    assert fieldset.difference(fieldset.leaves(present), every) == {}


@given(specs, specs)
def test_an_update_changes_none_of_its_arguments(before, after):
    live = created(before)
    new = {**copy.deepcopy(live), "spec": after}
    kept = copy.deepcopy((live, new))
    manager().update(live, new, "other", LATER)
    assert (live, new) == kept


@pytest.mark.parametrize(
    ("given_name", "agent", "expected"),
    [
        ("mine", "kubectl/v1.32", "mine"),
        ("", "kubectl/v1.32 (linux)", "kubectl"),
        ("", "a\x00b\n", "ab"),
        ("", "x" * 200, "x" * 128),
        ("", "é" * 100, "é" * 64),
        ("", "", ""),
    ],
)
def test_the_name_of_a_manager(given_name, agent, expected):
    assert manager_name(given_name, agent) == expected


def test_a_manager_without_a_name_is_unknown():
    assert list(owned(manager().update(None, widget({"text": "a"}), "", NOW))) == ["unknown"]
