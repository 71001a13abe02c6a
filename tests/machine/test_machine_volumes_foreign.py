"""What a claim says of its volume is its user's word: whose a volume is, the volume says."""

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.client import Client
from ingot.standalone.volumes.snapshot_class import snapshot_class
from ingot.standalone.volumes.snapshot_faults import SnapshotFault
from ingot.standalone.volumes.snapshot_plan import Planner
from machine.machine_support import a_claim, a_pod, a_volume, events_of
from machine.volume_support import copy_of, in_phase, used, write


@pytest.mark.usefixtures("machine")
async def test_a_claim_that_says_it_has_the_volume_of_another_is_not_copied(client: Client, namespace: str) -> None:
    gold = await used(client, namespace, "gold")
    write(gold["path"] / "disk.img", b"secret of another")
    evil = a_claim(namespace, "evil", volumeName=gold["volume"]["metadata"]["name"], storageClassName="ingot-local")
    evil["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    await client.create(VOLUME_CLAIMS, evil)
    loot = await client.create(VOLUME_CLAIMS, a_claim(namespace, "loot", **copy_of("evil")))
    await client.create(PODS, a_pod(namespace, "user-of-loot", ("loot",)))
    [message] = await eventually(lambda: events_of(client, loot, "ProvisioningFailed"))
    assert f"claim {namespace}/evil names volume" in message
    assert "which is another claim's" in message
    await in_phase(client, namespace, "evil", "Lost")
    assert (await client.get(VOLUME_CLAIMS, "loot", namespace))["status"]["phase"] == "Pending"


def _planner(holder: str) -> Planner:
    """For a claim `c` of uid `u`, which is said to be bound to a volume that names `holder`."""
    claim = {**a_claim("ns", "c", volumeName="pv"), "status": {"phase": "Bound"}}
    claim["metadata"]["uid"] = "u"
    volume = a_volume("pv", claimRef={"namespace": "ns", "name": "c", "uid": holder})
    volume["metadata"]["annotations"] = {"pv.kubernetes.io/provisioned-by": "ingot.io/local"}
    return Planner(_cache(claim), _cache(volume), _cache(snapshot_class(is_default=True)))


def _cache(obj: Object) -> Cache:
    cache = Cache()
    cache.put(key_of(obj) if "namespace" in obj["metadata"] else Key("", obj["metadata"]["name"]), obj)
    return cache


def test_no_snapshot_is_taken_of_a_volume_that_went_on_to_another_claim() -> None:
    """Between a volume's change of hands and the moment in which its old claim is called lost."""
    snapshot = {
        "metadata": {"namespace": "ns", "name": "s"},
        "spec": {"source": {"persistentVolumeClaimName": "c"}},
    }
    assert _planner("u").plan(snapshot).volume["metadata"]["name"] == "pv"
    with pytest.raises(SnapshotFault, match="claim ns/c names volume pv, which is another claim's"):
        _planner("other").plan(snapshot)
