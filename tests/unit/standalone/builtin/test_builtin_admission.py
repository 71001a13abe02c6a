"""What an object gets from others when it is created."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ingot.api.status import ApiError
from ingot.standalone.builtin.admission import TOKEN_PATH, Lookup, admit

Make = Callable[[str], Any]
Obj = dict[str, Any]


def world(**objects: list[Obj]) -> Lookup:
    keys = {"classes": "storageclasses.storage.k8s.io", "priorities": "priorityclasses.scheduling.k8s.io"}
    stored = {keys.get(key, key): found for key, found in objects.items()}

    def get(key: str, namespace: str, name: str) -> Obj | None:
        return next((obj for obj in stored.get(key, []) if obj["metadata"]["name"] == name), None)

    def listed(key: str) -> Iterable[Obj]:
        return stored.get(key, [])

    return Lookup(get, listed)


def account(**fields: Any) -> Obj:
    return {"metadata": {"name": "default"}, **fields}


def pod(kind: Make, **spec: Any) -> Obj:
    return kind("pods").filled({"spec": {"containers": [{"name": "a", "image": "b"}], **spec}})


def test_a_pod_reaches_the_api_as_its_account(kind: Make) -> None:
    made = pod(kind)
    admit("pods", made, None, world(serviceaccounts=[account(imagePullSecrets=[{"name": "s"}])]))
    spec = made["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == ("default", "default")
    assert spec["imagePullSecrets"] == [{"name": "s"}]
    (volume,) = spec["volumes"]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert mount == {"name": volume["name"], "readOnly": True, "mountPath": TOKEN_PATH}
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    assert not kind("pods").definition.validate(made, None)


def test_a_pod_has_a_priority_and_waits_for_a_lost_node(kind: Make) -> None:
    made = pod(kind, tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}])
    admit("pods", made, None, world(serviceaccounts=[account()]))
    assert (made["spec"]["priority"], made["spec"]["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    lost = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    assert made["spec"]["tolerations"][1:] == [{"key": "node.kubernetes.io/unreachable", **lost}]


@pytest.mark.parametrize(
    ("spec", "of_account"),
    [({"automountServiceAccountToken": False}, {}), ({}, {"automountServiceAccountToken": False})],
)
def test_a_token_can_be_declined(kind: Make, spec: Obj, of_account: Obj) -> None:
    made = pod(kind, **spec)
    admit("pods", made, None, world(serviceaccounts=[account(**of_account)]))
    assert "volumes" not in made["spec"]


def test_an_account_must_exist(kind: Make) -> None:
    with pytest.raises(ApiError) as caught:
        admit("pods", pod(kind, serviceAccountName="s"), None, world())
    assert caught.value.code == 403
    assert caught.value.message == (
        'pods "x" is forbidden: error looking up service account default/s: serviceaccount "s" not found'
    )


def test_priorities_come_from_classes(kind: Make) -> None:
    high = {"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}
    usual = {"metadata": {"name": "usual"}, "value": 3, "preemptionPolicy": "Never", "globalDefault": True}
    lookup = world(serviceaccounts=[account()], priorities=[high, usual])
    named, unnamed = pod(kind, priorityClassName="high"), pod(kind)
    admit("pods", named, None, lookup)
    admit("pods", unnamed, None, lookup)
    assert (named["spec"]["priority"], named["spec"]["preemptionPolicy"]) == (7, "Never")
    assert (unnamed["spec"]["priority"], unnamed["spec"]["priorityClassName"]) == (3, "usual")
    with pytest.raises(ApiError, match="no PriorityClass with name odd was found"):
        admit("pods", pod(kind, priorityClassName="odd"), None, lookup)


CLASSES = [
    {
        "metadata": {
            "name": name,
            "creationTimestamp": when,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "allowVolumeExpansion": name == "new",
    }
    for name, when in (("old", "2020-01-01T00:00:00Z"), ("new", "2021-01-01T00:00:00Z"))
]


def claim(kind: Make, size: str = "1Gi", **spec: Any) -> Obj:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return kind("persistentvolumeclaims").filled({"spec": {**wanted, **spec}})


def test_a_claim_without_a_class_gets_the_newest_default(kind: Make) -> None:
    unnamed, none = claim(kind), claim(kind, storageClassName="")
    for made in (unnamed, none):
        admit("persistentvolumeclaims", made, None, world(classes=CLASSES))
    assert (unnamed["spec"]["storageClassName"], none["spec"]["storageClassName"]) == ("new", "")


def test_a_claim_grows_only_where_its_class_lets_it(kind: Make) -> None:
    for name, allowed in (("new", True), ("old", False)):
        old = claim(kind, storageClassName=name)
        old["status"] = {"phase": "Bound"}
        new = claim(kind, "2Gi", storageClassName=name)
        if allowed:
            admit("persistentvolumeclaims", new, old, world(classes=CLASSES))
        else:
            with pytest.raises(ApiError, match="must support resize"):
                admit("persistentvolumeclaims", new, old, world(classes=CLASSES))


def test_a_service_gets_an_address(kind: Make) -> None:
    made = kind("services").filled({"spec": {"ports": [{"port": 80}]}})
    admit("services", made, None, world())
    assert made["spec"]["clusterIP"].startswith("10.96.")


def test_a_namespace_is_held_by_its_contents(kind: Make) -> None:
    made = kind("namespaces").filled({"spec": {"finalizers": ["a.io/b"]}})
    admit("namespaces", made, None, world())
    admit("namespaces", made, None, world())
    assert made["spec"]["finalizers"] == ["a.io/b", "kubernetes"]


def test_other_kinds_are_left_alone(kind: Make) -> None:
    made = kind("configmaps").filled({"data": {"a": "b"}})
    before = dict(made)
    admit("configmaps", made, None, world())
    assert made == before


@pytest.mark.parametrize(
    ("key", "held"),
    [
        ("persistentvolumeclaims", "kubernetes.io/pvc-protection"),
        ("persistentvolumes", "kubernetes.io/pv-protection"),
    ],
)
def test_storage_is_protected_once(kind: Make, key: str, held: str) -> None:
    made = kind(key).filled({"metadata": {"finalizers": ["mine"]}})
    admit(key, made, None, world())
    admit(key, made, None, world())
    assert made["metadata"]["finalizers"] == ["mine", held]


def test_a_change_of_phase_is_dated(kind: Make) -> None:
    then = "2020-01-01T00:00:00Z"
    old = kind("persistentvolumes").filled({"status": {"phase": "Available", "lastPhaseTransitionTime": then}})
    same = kind("persistentvolumes").filled({"status": {"phase": "Available"}})
    admit("persistentvolumes", same, old, world())
    assert same["status"]["lastPhaseTransitionTime"] == then
    bound = kind("persistentvolumes").filled({"status": {"phase": "Bound"}})
    admit("persistentvolumes", bound, old, world())
    assert bound["status"]["lastPhaseTransitionTime"] > then
