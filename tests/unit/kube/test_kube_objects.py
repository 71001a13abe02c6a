import pytest

from ingot.api.object import Object
from ingot.kube import objects

OWNER: Object = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "n", "uid": "u1", "generation": 4},
}


def child(namespace: str = "n") -> Object:
    return {"kind": "Pod", "metadata": {"name": "web-1", "namespace": namespace}}


def test_a_copy_shares_nothing() -> None:
    original: Object = {"a": [{"b": 1}], "c": {"d": [2]}}
    copy = objects.copy_of(original)
    copy["a"][0]["b"] = 9
    copy["c"]["d"].append(3)
    assert original == {"a": [{"b": 1}], "c": {"d": [2]}}


def test_a_controller_reference() -> None:
    obj = child()
    objects.set_controller_reference(obj, OWNER)
    objects.set_controller_reference(obj, OWNER)
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u1"}
    flags = {"controller": True, "blockOwnerDeletion": True}
    assert obj["metadata"]["ownerReferences"] == [reference | flags]
    assert objects.controller_of(obj) == reference | flags
    assert objects.refers_to_kind(reference, "apps", "Deployment")
    assert not objects.refers_to_kind(reference, "", "Deployment")


def test_there_is_only_one_controller() -> None:
    obj = child()
    objects.set_controller_reference(obj, OWNER)
    rival = OWNER | {"metadata": OWNER["metadata"] | {"name": "rival", "uid": "u2"}}
    with pytest.raises(objects.AlreadyOwned, match="Pod n/web-1 is controlled by Deployment web") as error:
        objects.set_controller_reference(obj, rival)
    assert error.value.owner["uid"] == "u1"
    objects.add_owner_reference(obj, rival)
    assert [entry.get("controller") for entry in obj["metadata"]["ownerReferences"]] == [True, None]


def test_an_owner_can_become_the_controller() -> None:
    obj = child()
    objects.add_owner_reference(obj, OWNER)
    assert objects.controller_of(obj) is None
    objects.set_controller_reference(obj, OWNER)
    assert len(obj["metadata"]["ownerReferences"]) == 1
    assert objects.controller_of(obj) is not None


def test_owners_do_not_reach_into_other_namespaces() -> None:
    for namespace in ("other", ""):
        with pytest.raises(ValueError, match="in another namespace"):
            objects.set_controller_reference(child(namespace), OWNER)
    node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u3"}}
    objects.add_owner_reference(child(), node)


def test_finalizers() -> None:
    obj = child()
    assert objects.add_finalizer(obj, "ingot/x")
    assert not objects.add_finalizer(obj, "ingot/x")
    assert objects.has_finalizer(obj, "ingot/x")
    assert objects.remove_finalizer(obj, "ingot/x")
    assert not objects.remove_finalizer(obj, "ingot/x")
    assert not objects.is_deleting(obj)
    assert objects.is_deleting({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})


def test_a_condition_says_since_when() -> None:
    obj = objects.copy_of(OWNER)
    assert objects.set_condition(obj, "Ready", False, "Pulling", "pulling", now=0)
    assert not objects.set_condition(obj, "Ready", False, "Pulling", "pulling", now=100)
    assert objects.set_condition(obj, "Ready", False, "Pulling", "almost", now=200)
    assert objects.condition(obj, "Ready") == {
        "type": "Ready",
        "status": "False",
        "reason": "Pulling",
        "message": "almost",
        "observedGeneration": 4,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    }
    assert objects.set_condition(obj, "Ready", True, "Done", "", now=300)
    assert objects.is_true(obj, "Ready")
    ready = objects.condition(obj, "Ready")
    assert ready is not None
    assert ready["lastTransitionTime"] == "1970-01-01T00:05:00Z"
    objects.set_condition(obj, "Ready", None, "Lost", "", now=400)
    assert not objects.is_true(obj, "Ready")
    assert len(obj["status"]["conditions"]) == 1
