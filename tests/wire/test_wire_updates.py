"""What of every kind may be changed later, and what may not."""

import pytest

from ingot.api.object import Object
from wire.kinds import (
    CLAIMS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    PODS,
    SECRETS,
    STORAGE_CLASSES,
    claim,
    pod,
)
from wire.samples import KINDS, named
from wire.talker import Conversation, refused

# The kind, changes that are refused, and one that is not.
CHANGES: dict[str, tuple[list[Object], Object]] = {
    "claim": (
        [
            {"spec": {"volumeMode": "Block"}},
            {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
            {"spec": {"resources": {"requests": {"storage": "512Mi"}}}},
        ],
        {"metadata": {"labels": {"a": "b"}}},
    ),
    "volume": (
        [
            {"spec": {"hostPath": {"path": "/elsewhere"}}},
            {"spec": {"volumeMode": "Block"}},
            {"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": []}}}},
        ],
        {"spec": {"capacity": {"storage": "2Gi"}, "persistentVolumeReclaimPolicy": "Delete"}},
    ),
    "service": (
        [
            {"spec": {"clusterIP": "10.96.0.77"}},
            {"spec": {"type": "ExternalName"}},
            {"spec": {"ports": [{"port": 0}]}},
        ],
        {"spec": {"ports": [{"port": 81, "name": "http"}]}},
    ),
    "storage-class": (
        [
            {"provisioner": "other"},
            {"parameters": {"a": "b"}},
            {"reclaimPolicy": "Retain"},
            {"volumeBindingMode": "WaitForFirstConsumer"},
        ],
        {"allowVolumeExpansion": True},
    ),
    "priority-class": ([{"value": 11}, {"preemptionPolicy": "Never"}], {"description": "changed"}),
    "csi-driver": ([{"spec": {"attachRequired": False}}], {"spec": {"storageCapacity": True}}),
    "role-binding": ([{"roleRef": {"name": "other"}}], {"subjects": []}),
    "lease": ([{"spec": {"leaseDurationSeconds": -1}}], {"spec": {"holderIdentity": "you"}}),
    "node": ([{"spec": {"podCIDR": "x"}}, {"spec": {"providerID": 1}}], {"spec": {"unschedulable": True}}),
    "event": ([{"involvedObject": {"namespace": "elsewhere"}}], {"count": 2}),
    "endpoints": ([{"subsets": [{"addresses": []}]}], {"subsets": None}),
    "secret": ([{"data": {"a": 1}}], {"stringData": {"c": "d"}}),
    "account": ([{"secrets": "text"}], {"automountServiceAccountToken": False}),
    "cluster-role": ([{"rules": [{"verbs": ["get"]}]}], {"rules": None}),
}


@pytest.mark.parametrize("kind", CHANGES)
async def test_what_is_fixed_stays_and_the_rest_may_change(case: Conversation, kind: str) -> None:
    resource, least, _ = KINDS[kind]
    made = await case.create(resource, named(case, resource, least))
    name = made["metadata"]["name"]
    changes, allowed = CHANGES[kind]
    for change in changes:
        with refused("Invalid"):
            await case.patch(resource, name, change)
    changed = await case.patch(resource, name, allowed)
    assert changed["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]


async def test_a_bound_claim_grows_where_its_class_allows_it(case: Conversation) -> None:
    for name, grows in (("firm", False), ("stretchy", True)):
        storage = {"metadata": {"name": f"{case.namespace}-{name}"}, "provisioner": "wire.test/none"}
        await case.create(STORAGE_CLASSES, storage | {"allowVolumeExpansion": grows})
        await case.create(CLAIMS, claim(name, storageClassName=f"{case.namespace}-{name}"))
        bound = {"status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}
        await case.patch(CLAIMS, name, bound, subresource="status")
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    smaller = {"spec": {"resources": {"requests": {"storage": "512Mi"}}}}
    with refused("Forbidden"):
        await case.patch(CLAIMS, "firm", larger)
    with refused("Invalid"):
        await case.patch(CLAIMS, "stretchy", smaller)
    grown = await case.patch(CLAIMS, "stretchy", larger)
    assert grown["spec"]["resources"]["requests"]["storage"] == "2Gi"


async def test_a_role_gathers_the_rules_of_others(case: Conversation) -> None:
    label = {f"gather.{case.namespace}.test/to": "all"}
    gathering = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": label}]}}
    await case.create(CLUSTER_ROLES, {"metadata": {"name": f"{case.namespace}-all"}, **gathering})
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    part = {"metadata": {"name": f"{case.namespace}-part", "labels": label}, "rules": [rule]}
    await case.create(CLUSTER_ROLES, part)
    gathered = await case.until(CLUSTER_ROLES, f"{case.namespace}-all", lambda found: bool(found.get("rules")))
    assert gathered["rules"] == [rule]


async def test_finalizers_and_owners_may_be_changed_on_everything(case: Conversation) -> None:
    await case.create(PODS, pod("one"))
    patched = await case.patch(PODS, "one", {"metadata": {"finalizers": ["wire.test/a"], "annotations": {"a": "b"}}})
    assert patched["metadata"]["annotations"] == {"a": "b"}
    cleared = await case.patch(PODS, "one", {"metadata": {"finalizers": [], "annotations": {}}})
    assert "finalizers" not in cleared["metadata"]


async def test_times_and_ids_cannot_be_changed(case: Conversation) -> None:
    await case.create(CONFIG_MAPS, {"metadata": {"name": "one"}})
    before = await case.get(CONFIG_MAPS, "one")
    meta = {"creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z", "generation": 9}
    for change in ({"creationTimestamp": meta["creationTimestamp"]}, {"generation": 9}, {"selfLink": "/x"}):
        after = await case.patch(CONFIG_MAPS, "one", {"metadata": change})
        assert after["metadata"]["creationTimestamp"] == before["metadata"]["creationTimestamp"]
    with refused("Invalid"):
        await case.patch(CONFIG_MAPS, "one", {"metadata": {"deletionTimestamp": meta["deletionTimestamp"]}})


async def test_a_generated_name_is_cut_to_fit(case: Conversation) -> None:
    made = await case.create(SECRETS, {"metadata": {"generateName": "x" * 53 + "-gen-cut"}})
    assert len(made["metadata"]["name"]) == 63
