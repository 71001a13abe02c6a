"""Machines on a real API server: started, stopped, restarted and deleted, with their instances and pods."""

import json

from control.world import World, instance, machine
from eventual import eventually
from ingot.api.cdi.names import FAILURE, IMMEDIATE, POD_PHASE, PROGRESS, RUNNING
from ingot.api.kubevirt import phase
from ingot.api.object import Object, uid_of
from ingot.api.resources import DATA_VOLUMES, INSTANCES, MACHINES, NAMESPACES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS
from ingot.kube.objects import condition, controller_of


async def test_a_machine_runs_and_leaves_nothing_behind(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    await world.reaches("vm", phase.SCHEDULING)
    await world.printed("vm", "Starting")
    await world.run("vm")
    running = await world.printed("vm", "Running")
    assert (running["status"]["created"], running["status"]["ready"]) == (True, True)
    assert running["status"]["runStrategy"] == "Always"
    await world.heard("vm", "SuccessfulCreate")

    await world.client.delete(MACHINES, "vm", world.namespace)
    await world.printed("vm", "Terminating")
    await world.end("vm")
    await world.gone_with_pod(MACHINES, "vm")
    for resource in (INSTANCES, PODS):
        assert not (await world.client.list(resource, world.namespace))["items"]


async def test_a_machine_goes_with_its_namespace(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    await world.run("vm")
    await world.printed("vm", "Running")
    await world.client.delete(NAMESPACES, world.namespace)
    await world.until(INSTANCES, "vm", lambda each: each["metadata"].get("deletionTimestamp"))
    await world.end("vm")
    await world.gone_with_pod(MACHINES, "vm")
    await eventually(lambda: _is_gone(world))


async def _is_gone(world: World) -> bool:
    listed = await world.client.list(NAMESPACES, field_selector=f"metadata.name={world.namespace}")
    return not listed["items"]


async def test_a_machine_is_started_again_whenever_it_stops(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    first = await world.run("vm")
    await world.end("vm")
    second = await world.successor("vm", first)
    assert uid_of(controller_of(second) or {"metadata": {}}) == ""
    await world.run("vm")
    await world.printed("vm", "Running")


async def test_halting_stops_it_and_it_says_so_all_the_way(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    await world.run("vm")
    await world.printed("vm", "Running")
    await world.change(MACHINES, "vm", {"spec": {"runStrategy": "Halted"}})
    await world.printed("vm", "Stopping")
    await world.end("vm")
    await world.gone_with_pod(INSTANCES, "vm")
    await world.printed("vm", "Stopped")
    stopped = await world.until(MACHINES, "vm", lambda each: "VMINotExists" in str(condition(each, "Ready")))
    assert (condition(stopped, "Ready") or {})["status"] == "False"
    assert stopped["status"]["created"] is False


async def test_by_hand_it_starts_and_stops_when_asked(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Manual"))
    await world.printed("vm", "Stopped")
    await world.ask("vm", {"action": "Start", "data": {"paused": "true"}})
    first = await world.run("vm")
    assert first["spec"]["startStrategy"] == "Paused"
    running = await world.printed("vm", "Running")
    assert "stateChangeRequests" not in running["status"]

    await world.ask("vm", {"action": "Stop", "uid": uid_of(first)}, {"action": "Start"})
    await world.printed("vm", "Stopping")
    await world.end("vm")
    second = await world.successor("vm", first)
    assert "startStrategy" not in second["spec"]
    done = await world.until(MACHINES, "vm", lambda each: "stateChangeRequests" not in each["status"])
    assert done["status"]["created"] is True


async def test_what_runs_once_is_not_started_again(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Once"))
    first = await world.run("vm")
    await world.end("vm")
    stopped = await world.printed("vm", "Stopped")
    assert uid_of(await world.get(INSTANCES, "vm")) == uid_of(first)
    assert stopped["status"]["created"] is True
    await world.client.delete(INSTANCES, "vm", world.namespace)
    await world.gone_with_pod(INSTANCES, "vm")
    await world.until(MACHINES, "vm", lambda each: each["status"]["created"] is False)
    await world.quiet("vm")
    assert await world.is_gone(INSTANCES, "vm")


async def test_what_failed_is_run_again_and_what_succeeded_is_not(world: World) -> None:
    await world.create(MACHINES, machine("vm", "RerunOnFailure"))
    first = await world.run("vm")
    await world.end("vm", phase.FAILED)
    await world.successor("vm", first)
    await world.run("vm")
    await world.end("vm")
    await world.gone_with_pod(INSTANCES, "vm")
    await world.printed("vm", "Stopped")
    await world.quiet("vm")
    assert await world.is_gone(INSTANCES, "vm")


async def test_a_change_of_the_template_needs_a_restart(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    await world.run("vm")
    await world.printed("vm", "Running")
    more = {"spec": {"template": {"spec": {"hostname": "other"}}}}
    await world.change(MACHINES, "vm", more)
    told = await world.until(MACHINES, "vm", lambda each: condition(each, "RestartRequired"))
    assert told["status"]["desiredGeneration"] == told["metadata"]["generation"]
    assert told["status"]["observedGeneration"] < told["status"]["desiredGeneration"]
    await world.change(MACHINES, "vm", {"spec": {"template": {"spec": {"hostname": None}}}})
    await world.until(MACHINES, "vm", lambda each: not condition(each, "RestartRequired"))


async def test_an_orphan_stays_and_is_adopted_by_the_next(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    first = await world.run("vm")
    await world.client.delete(MACHINES, "vm", world.namespace, propagation="Orphan")
    await world.gone(MACHINES, "vm")
    orphan = await world.get(INSTANCES, "vm")
    assert uid_of(orphan) == uid_of(first)
    assert controller_of(orphan) is None
    assert "deletionTimestamp" not in orphan["metadata"]

    again = await world.create(MACHINES, machine("vm", "Always"))
    await world.printed("vm", "Running")
    adopted = await world.get(INSTANCES, "vm")
    assert (controller_of(adopted) or {})["uid"] == uid_of(again)
    assert uid_of(adopted) == uid_of(first)


async def test_an_instance_of_somebody_else_is_left_alone(world: World) -> None:
    taken = instance("vm")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": "1", "controller": True}
    taken["metadata"]["ownerReferences"] = [owner | {"apiVersion": "example.com/v1"}]
    other = await world.create(INSTANCES, taken)
    await world.create(MACHINES, machine("vm", "Once"))
    told = await world.until(MACHINES, "vm", lambda each: condition(each, "Failure"))
    failure = condition(told, "Failure") or {}
    assert failure["reason"] == "FailedCreate"
    assert "ConfigMap mine" in failure["message"]
    await world.heard("vm", "FailedCreate")

    await world.client.delete(INSTANCES, "vm", world.namespace)
    own = await world.successor("vm", other)
    assert (controller_of(own) or {})["uid"] == uid_of(told)


async def test_hardware_that_comes_from_elsewhere_is_refused(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always", instancetype={"name": "u1.small"}))
    told = await world.until(MACHINES, "vm", lambda each: condition(each, "Failure"))
    assert "spec.instancetype" in (condition(told, "Failure") or {})["message"]
    await world.change(MACHINES, "vm", {"spec": {"instancetype": None}})
    await world.reaches("vm", phase.SCHEDULING)
    await world.until(MACHINES, "vm", lambda each: not condition(each, "Failure"))


def filled(name: str) -> Object:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": {"name": name}, "spec": {"source": {"blank": {}}, "pvc": claim}}


async def fill(world: World, name: str) -> None:
    """The populator: the claim of a DataVolume has its volume, with all in it."""
    await world.until(VOLUME_CLAIMS, name, bool)
    await world.bind(name)


async def fails(world: World, name: str, message: str) -> None:
    """The populator: the claim of a DataVolume cannot be filled."""
    await world.until(VOLUME_CLAIMS, name, bool)
    told = json.dumps({"reason": "NotFound", "message": message})
    await world.change(VOLUME_CLAIMS, name, {"metadata": {"annotations": {FAILURE: told}}})


async def test_data_volumes_are_made_once_and_waited_for(world: World) -> None:
    """R7: the first boot is from a disk that was filled for it, and later ones from the same."""
    volume = {"name": "root", "dataVolume": {"name": "disk"}}
    made = await world.create(MACHINES, machine("vm", "Always", volume, dataVolumeTemplates=[filled("disk")]))
    await world.printed("vm", "Provisioning")
    found = await world.get(DATA_VOLUMES, "disk")
    assert (controller_of(found) or {})["uid"] == uid_of(made)
    assert found["metadata"]["annotations"][IMMEDIATE] == "true"
    assert await world.is_gone(INSTANCES, "vm")

    await fill(world, "disk")
    await world.reaches("vm", phase.SCHEDULING)
    await world.heard("vm", "SuccessfulDataVolumeCreate")
    await world.run("vm")
    running = await world.printed("vm", "Running")
    assert condition(running, "DataVolumesReady") is None
    assert uid_of(await world.get(DATA_VOLUMES, "disk")) == uid_of(found)


def waited_for(vm: Object) -> str:
    told = condition(vm, "DataVolumesReady") or {}
    return str(told.get("message", "")) if told.get("status") == "False" else ""


async def test_a_machine_says_how_far_the_data_volume_is_that_it_waits_for(world: World) -> None:
    volume = {"name": "root", "dataVolume": {"name": "disk"}}
    await world.create(MACHINES, machine("vm", "Always", volume, dataVolumeTemplates=[filled("disk")]))
    await world.until(VOLUME_CLAIMS, "disk", bool)
    told = {POD_PHASE: "Running", RUNNING: "true", PROGRESS: json.dumps({"done": 1, "total": 4, "rate": 1})}
    await world.change(VOLUME_CLAIMS, "disk", {"metadata": {"annotations": told}})
    await world.until(MACHINES, "vm", lambda each: "(ImportInProgress 25.00%)" in waited_for(each))
    assert '"disk"' in waited_for(await world.get(MACHINES, "vm"))

    await fails(world, "disk", "the server says 404; final")
    found = await world.until(MACHINES, "vm", lambda each: "the server says 404" in waited_for(each))
    assert "Delete it" in waited_for(found)


async def test_a_data_volume_that_is_gone_without_its_claim_is_not_made_again(world: World) -> None:
    volume = {"name": "root", "dataVolume": {"name": "disk"}}
    await world.create(VOLUME_CLAIMS, {"metadata": {"name": "disk"}, "spec": filled("disk")["spec"]["pvc"]})
    await world.bind("disk")
    await world.create(MACHINES, machine("vm", "Always", volume, dataVolumeTemplates=[filled("disk")]))
    await world.run("vm")
    await world.printed("vm", "Running")
    assert await world.is_gone(DATA_VOLUMES, "disk")


async def test_a_template_may_ask_to_wait_for_the_node(world: World) -> None:
    """The launcher is the consumer that such a volume waits for."""
    name = f"late-{world.namespace}"
    late = {"metadata": {"name": name}, "provisioner": "example.com/far", "volumeBindingMode": "WaitForFirstConsumer"}
    await world.client.create(STORAGE_CLASSES, late)
    template = filled("disk")
    template["metadata"]["annotations"] = {IMMEDIATE: "false"}
    template["spec"]["pvc"]["storageClassName"] = name
    volume = {"name": "root", "dataVolume": {"name": "disk"}}
    await world.create(MACHINES, machine("vm", "Always", volume, dataVolumeTemplates=[template]))
    await world.until(DATA_VOLUMES, "disk", lambda each: (each.get("status") or {}).get("phase") == "PendingPopulation")
    await world.printed("vm", "WaitingForVolumeBinding")
    pod = await world.pod_of("vm")
    assert "disk" in str(pod["spec"]["volumes"])
    await world.client.delete(STORAGE_CLASSES, name)


async def test_a_data_volume_that_failed_is_told_and_made_again_once_it_is_deleted(world: World) -> None:
    volume = {"name": "root", "dataVolume": {"name": "disk"}}
    await world.create(MACHINES, machine("vm", "Always", volume, dataVolumeTemplates=[filled("disk")]))
    await fails(world, "disk", "the server says 404; final")
    await world.printed("vm", "DataVolumeError")
    await world.create(INSTANCES, instance("it", volume))
    assert "the server says 404" in (await world.refused("it", "FailedDataVolumeImport"))["message"]

    failed = await world.get(DATA_VOLUMES, "disk")
    await world.client.delete(DATA_VOLUMES, "disk", world.namespace)

    async def another() -> bool:
        await world.end_claims()
        return uid_of(await world.get(DATA_VOLUMES, "disk")) != uid_of(failed)

    await eventually(another)
    assert await world.is_gone(INSTANCES, "vm")
    await world.refused("it", "DataVolumeNotReady")

    async def claimed() -> bool:
        claim = await world.get(VOLUME_CLAIMS, "disk")
        return bool((controller_of(claim) or {})["uid"] == uid_of(await world.get(DATA_VOLUMES, "disk")))

    await eventually(claimed)
    await fill(world, "disk")
    await world.reaches("vm", phase.SCHEDULING)
    await world.reaches("it", phase.SCHEDULING)


async def test_a_start_that_fails_is_tried_again_after_a_while(world: World) -> None:
    await world.create(MACHINES, machine("vm", "Always"))
    pod = await world.pod_of("vm")
    await world.pod_status(pod, phase="Failed", message="no room")
    told = await world.printed("vm", "CrashLoopBackOff")
    first = told["status"]["startFailure"]
    assert first["consecutiveFailCount"] == 1
    await world.gone_with_pod(INSTANCES, "vm")
    assert (await world.get(MACHINES, "vm"))["status"]["printableStatus"] == "CrashLoopBackOff"
    assert await world.is_gone(INSTANCES, "vm")

    await world.pass_time(11)
    pod = await world.pod_of("vm")
    await world.printed("vm", "Starting")
    await world.pod_status(pod, phase="Failed", message="no room")
    await world.until(MACHINES, "vm", lambda each: each["status"]["startFailure"]["consecutiveFailCount"] == 2)
    await world.gone_with_pod(INSTANCES, "vm")
    await world.pass_time(11)
    assert await world.is_gone(INSTANCES, "vm")
    await world.pass_time(10)
    await world.run("vm")
    await world.until(MACHINES, "vm", lambda each: "startFailure" not in each["status"])
