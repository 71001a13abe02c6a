"""Instances on a real API server: what stands in their way is told, and they go on by themselves once it is gone."""

import pytest

from control.world import World, instance
from ingot.api.cdi.names import POD_PHASE, UPLOAD_TARGET
from ingot.api.kubevirt import phase
from ingot.api.kubevirt.names import NODE_FINALIZER, NODE_NAME, launcher_name
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import EVENTS, INSTANCES, NODES, PODS, SERVICE_ACCOUNTS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.kube.objects import condition, has_finalizer

DISK = {"name": "root", "persistentVolumeClaim": {"claimName": "disk"}}


def claim(name: str = "disk", **spec: str) -> Object:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


async def test_it_is_handed_to_the_node_that_its_pod_is_on(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    pod = await world.run_pod("it")
    handed = await world.reaches("it", phase.SCHEDULED)
    assert handed["status"]["nodeName"] == world.far
    assert handed["status"]["activePods"] == {uid_of(pod): world.far}
    assert handed["metadata"]["labels"][NODE_NAME] == world.far
    passed = [each["phase"] for each in handed["status"]["phaseTransitionTimestamps"]]
    assert passed == ["Pending", "Scheduling", "Scheduled"]
    assert (condition(handed, "Ready") or {})["reason"] == "GuestNotRunning"
    await world.heard("it", "SuccessfulCreate")


async def test_a_claim_that_is_missing_is_named_and_waited_for(world: World) -> None:
    await world.create(INSTANCES, instance("it", DISK))
    told = await world.refused("it", "FailedPvcNotFound")
    assert '"disk"' in told["message"]
    assert '"root"' in told["message"]
    assert phase.phase_of(await world.get(INSTANCES, "it")) == phase.PENDING
    await world.heard("it", "FailedPvcNotFound")

    await world.create(VOLUME_CLAIMS, claim(volumeMode="Block"))
    await world.refused("it", "ClaimNotBound")
    await world.bind("disk")
    pod = await world.pod_of("it")
    assert pod["spec"]["volumes"][1]["persistentVolumeClaim"] == {"claimName": "disk"}
    assert pod["spec"]["containers"][0]["volumeDevices"] == [{"name": "root", "devicePath": "/dev/ingot/root"}]
    going = await world.until(INSTANCES, "it", lambda each: each["status"]["volumeStatus"][0]["phase"] == "Bound")
    assert phase.phase_of(going) == phase.SCHEDULING
    assert condition(going, "Synchronized") is None
    (volume,) = going["status"]["volumeStatus"]
    assert volume["persistentVolumeClaimInfo"]["claimName"] == "disk"
    assert volume["persistentVolumeClaimInfo"]["volumeMode"] == "Block"


async def test_a_claim_that_still_takes_its_upload_is_waited_for(world: World) -> None:
    """G1: what the guest had written was lost when the disk came."""
    wanted = claim(volumeMode="Block")
    wanted["metadata"]["annotations"] = {UPLOAD_TARGET: ""}
    await world.create(VOLUME_CLAIMS, wanted)
    await world.bind("disk")
    await world.create(INSTANCES, instance("it", DISK))
    assert '"disk"' in (await world.refused("it", "ClaimNotFilled"))["message"]
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": {POD_PHASE: "Succeeded"}}})
    await world.pod_of("it")


async def test_a_claim_that_waits_for_its_pod_gets_one(world: World) -> None:
    name = f"late-{world.namespace}"
    made = {"metadata": {"name": name}, "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"}
    await world.client.create(STORAGE_CLASSES, made)
    wanting = await world.create(VOLUME_CLAIMS, claim(storageClassName=name))
    await world.create(INSTANCES, instance("it", DISK))
    pod = await world.pod_of("it")
    assert [each["name"] for each in pod["spec"]["volumes"]] == ["ingot-private", "root"]

    await _set_back(world, wanting, "early", "2023-11-14T22:13:20Z", "no room")
    await _set_back(world, wanting, "late", "2023-11-14T22:13:30Z", "only root can make block volumes")
    told = await world.until(INSTANCES, "it", lambda each: "only root" in str(condition(each, "Synchronized")))
    assert (condition(told, "Synchronized") or {})["reason"] == "ClaimNotBound"
    await world.heard("it", "ClaimNotBound")
    await world.bind("disk")
    await world.until(INSTANCES, "it", lambda each: condition(each, "Synchronized") is None)


async def _set_back(world: World, about: Object, name: str, when: str, message: str) -> None:
    """The provisioner: the claim gets no volume, for this reason."""
    involved = {"kind": "PersistentVolumeClaim", "name": name_of(about), "uid": uid_of(about)}
    event = {"involvedObject": {**involved, "namespace": world.namespace}, "lastTimestamp": when, "type": "Warning"}
    await world.create(
        EVENTS, {"metadata": {"name": name}, "reason": "ProvisioningFailed", "message": message, **event}
    )


@pytest.mark.parametrize(("driver", "mounted"), [({}, False), ({"driver": {"name": "kubelet"}}, True)])
async def test_a_claim_that_qemu_reaches_itself_is_not_mounted(world: World, driver: Object, mounted: bool) -> None:
    await world.create(VOLUME_CLAIMS, claim(volumeMode="Block"))
    await world.bind("disk", iscsi={"targetPortal": "10.0.0.1:3260", "iqn": "iqn.2017-01.io.kubevirt:sn.42", "lun": 1})
    await world.create(INSTANCES, instance("it", {**DISK, **driver}))
    pod = await world.pod_of("it")
    assert ("root" in [each["name"] for each in pod["spec"]["volumes"]]) is mounted


async def test_a_usage_type_that_nobody_offers_is_told_and_the_pod_waits_for_it(world: World) -> None:
    copy = {"mode": "copy-on-write", "usageType": world.namespace}
    await world.create(INSTANCES, instance("it", {"name": "root", "copy": copy, "nbd": {"host": "far", "export": "a"}}))
    told = await world.refused("it", "UsageTypeNotOffered")
    assert world.far in told["message"]
    assert "default" in told["message"]
    await world.heard("it", "UsageTypeNotOffered")
    pod = await world.pod_of("it")
    assert pod["spec"]["nodeSelector"][f"usage-type.ingot.io/{world.namespace}"] == "true"
    await world.node(f"other-{world.namespace}", world.namespace)
    await world.until(INSTANCES, "it", lambda each: not condition(each, "Synchronized"))


async def test_what_the_scheduler_says_is_passed_on(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    pod = await world.pod_of("it")
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes: no memory"}
    await world.write(PODS, pod["metadata"]["name"], {"phase": "Pending", "conditions": [said]})
    told = await world.until(INSTANCES, "it", lambda each: condition(each, "PodScheduled"))
    found = condition(told, "PodScheduled") or {}
    assert (found["status"], found["reason"], found["message"]) == ("False", "Unschedulable", "0/1 nodes: no memory")
    await world.run_pod("it")
    handed = await world.reaches("it", phase.SCHEDULED)
    assert condition(handed, "PodScheduled") is None


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"containerDisk": {"image": "registry.local/disk"}}, "spec.volumes[0].containerDisk"),
        ({"container": {"image": "registry.local/disk"}}, "spec.volumes[0].container"),
        ({"memoryDump": {"claimName": "dump"}}, "spec.volumes[0].memoryDump"),
        ({"downwardMetrics": {}}, "spec.volumes[0].downwardMetrics"),
    ],
)
async def test_a_source_that_is_not_delivered_is_named(world: World, source: Object, field: str) -> None:
    await world.create(INSTANCES, instance("it", {"name": "root", **source}))
    told = await world.refused("it", "VolumeSourceNotSupported")
    assert f'volume "root": {field} ' in told["message"]
    assert phase.phase_of(await world.get(INSTANCES, "it")) == phase.PENDING


async def test_a_pod_that_the_server_refuses_is_told_and_tried_again(world: World) -> None:
    await world.create(INSTANCES, instance("it", serviceAccountName="late"))
    told = await world.refused("it", "FailedCreate")
    assert 'serviceaccount "late" not found' in told["message"]
    assert "tried again in 10 s" in told["message"]
    await world.heard("it", "FailedCreate")
    await world.create(SERVICE_ACCOUNTS, {"metadata": {"name": "late"}})
    await world.pass_time(10)
    await world.pod_of("it")


async def test_a_pod_that_is_lost_before_its_node_took_over_is_the_end(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    pod = await world.pod_of("it")
    await world.reaches("it", phase.SCHEDULING)
    await world.client.delete(PODS, pod["metadata"]["name"], world.namespace)
    await world.reaches("it", phase.FAILED)
    await world.refused("it", "LauncherLost")

    await world.create(INSTANCES, instance("other"))
    await world.run_pod("other")
    await world.reaches("other", phase.SCHEDULED)
    ended = {"name": "compute", "state": {"terminated": {"exitCode": 7}}}
    ended |= {"image": "ingot", "imageID": "", "lastState": {}, "ready": False, "restartCount": 0}
    await world.pod_status(await world.pod_of("other"), phase="Failed", containerStatuses=[ended])
    await world.reaches("other", phase.FAILED)
    assert "exit code 7" in (await world.refused("other", "LauncherLost"))["message"]


async def test_a_pod_that_is_lost_later_is_for_the_node_to_tell(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    await world.run("it")
    await world.pod_status(await world.pod_of("it"), phase="Failed")
    await world.quiet("it")
    assert phase.phase_of(await world.get(INSTANCES, "it")) == phase.RUNNING


async def test_a_node_that_is_silent_keeps_what_it_has(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    await world.run("it")
    silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "silent"}
    await world.ready_node({**silent, "lastTransitionTime": "2024-01-01T00:00:00Z"})
    told = await world.until(INSTANCES, "it", lambda each: (condition(each, "Ready") or {})["reason"] == "NodeNotReady")
    assert has_finalizer(told, NODE_FINALIZER)
    assert phase.phase_of(told) == phase.RUNNING
    assert "nothing of it is released" in (condition(told, "Ready") or {})["message"]
    back = {**silent, "status": "True", "lastTransitionTime": "2024-01-02T00:00:00Z"}
    await world.ready_node(back)
    await world.until(INSTANCES, "it", lambda each: (condition(each, "Ready") or {})["status"] == "True")


@pytest.mark.parametrize("how", ["deleted", "out of service"])
async def test_a_node_that_is_gone_for_good_takes_its_guests_along(world: World, how: str) -> None:
    await world.create(INSTANCES, instance("it"))
    await world.run("it")
    if how == "deleted":
        await world.client.delete(NODES, world.far)
    else:
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        await world.client.patch(NODES, world.far, {"spec": {"taints": [taint]}})
    await world.reaches("it", phase.FAILED)
    told = await world.refused("it", "NodeGone")
    assert world.far in told["message"]
    lost = await world.until(INSTANCES, "it", lambda each: not has_finalizer(each, NODE_FINALIZER))
    await world.gone(PODS, launcher_name(lost))
    await world.client.delete(INSTANCES, "it", world.namespace)
    await world.gone(INSTANCES, "it")


async def test_an_instance_that_is_deleted_waits_for_its_node(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    await world.run("it")
    await world.client.delete(INSTANCES, "it", world.namespace)
    await world.quiet("it")
    assert "deletionTimestamp" not in (await world.pod_of("it"))["metadata"]
    await world.end("it")
    await world.gone_with_pod(INSTANCES, "it")
    assert not (await world.client.list(PODS, world.namespace))["items"]


async def test_an_instance_that_never_got_a_node_is_deleted_at_once(world: World) -> None:
    await world.create(INSTANCES, instance("it"))
    await world.reaches("it", phase.SCHEDULING)
    await world.client.delete(INSTANCES, "it", world.namespace)
    await world.gone(INSTANCES, "it")
    assert not (await world.client.list(PODS, world.namespace))["items"]
