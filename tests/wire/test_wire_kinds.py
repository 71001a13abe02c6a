"""Every kind of Kubernetes that both serve: what it is given, and what it does not take."""

import pytest

from wire.kinds import CLAIMS, PODS, STORAGE_CLASSES, claim, pod
from wire.samples import CONTAINER, KINDS, named
from wire.talker import Conversation, refused


@pytest.mark.parametrize("kind", KINDS)
async def test_the_least_is_completed_by_defaults(case: Conversation, kind: str) -> None:
    resource, least, _ = KINDS[kind]
    made = await case.create(resource, named(case, resource, least))
    assert made["kind"] == resource.kind
    assert await case.get(resource, made["metadata"]["name"]) == made


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_wrong_is_told_by_field(case: Conversation, kind: str) -> None:
    resource, _, faults = KINDS[kind]
    for fault in faults:
        with refused("Invalid"):
            await case.create(resource, named(case, resource, fault))


async def test_a_pod_gets_the_account_of_its_namespace(case: Conversation) -> None:
    made = await case.create(PODS, {"metadata": {"name": "one"}, "spec": {"containers": [CONTAINER]}})
    assert made["spec"]["serviceAccountName"] == "default"
    assert made["spec"]["volumes"][0]["name"].startswith("kube-api-access-")
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    assert mounts[0]["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount"


async def test_a_pod_needs_an_account_that_is_there(case: Conversation) -> None:
    with refused("Forbidden"):
        await case.create(PODS, pod("one", serviceAccountName="nobody"))


async def test_quantities_come_back_in_their_shortest_form(case: Conversation) -> None:
    amounts = {"cpu": "1500m", "memory": "1024Mi", "ephemeral-storage": "1e9"}
    made = await case.create(PODS, pod("one", containers=[{**CONTAINER, "resources": {"limits": amounts}}]))
    resources = made["spec"]["containers"][0]["resources"]
    assert resources["limits"] == {"cpu": "1500m", "memory": "1Gi", "ephemeral-storage": "1e9"}
    assert resources["requests"] == resources["limits"]
    assert made["status"]["qosClass"] == "Burstable" or made["status"]["qosClass"] == "Guaranteed"


async def test_the_default_class_is_given_to_claims(case: Conversation) -> None:
    name = f"{case.namespace}-class"
    made = await case.create(
        STORAGE_CLASSES,
        {
            "metadata": {"name": name, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
            "provisioner": "wire.test/none",
        },
    )
    assert made["reclaimPolicy"] == "Delete"
    try:
        # kube-apiserver hears of a class some moments after it is stored.
        await case.settled(CLAIMS, claim("one"), lambda found: "storageClassName" in found["spec"])
        given = await case.create(CLAIMS, claim("one"))
        assert given["spec"]["storageClassName"] == name
    finally:
        await case.delete(STORAGE_CLASSES, name)


async def test_a_priority_is_looked_up_by_its_class(case: Conversation) -> None:
    with refused("Forbidden"):
        await case.create(PODS, pod("one", priorityClassName="no-such-class"))
    made = await case.create(PODS, pod("one", priorityClassName="system-node-critical"))
    assert made["spec"]["priority"] == 2000001000
