"""Machines on a real API server: started, stopped, restarted and deleted, with their instances and pods."""

from control.world import World, machine
from ingot.api.kubevirt import phase
from ingot.api.resources import INSTANCES, MACHINES, PODS


async def test_a_machine_runs_and_leaves_nothing_behind(world: World) -> None:
    await world.node()
    await world.create(MACHINES, machine("vm", "Always"))
    await world.phase("vm", phase.SCHEDULING)
    await world.printed("vm", "Starting")
    await world.run("vm")
    running = await world.printed("vm", "Running")
    assert (running["status"]["created"], running["status"]["ready"]) == (True, True)
    assert running["status"]["runStrategy"] == "Always"

    await world.client.delete(MACHINES, "vm", world.namespace)
    await world.printed("vm", "Terminating")
    await world.report("vm", phase.SUCCEEDED)
    await world.let_go("vm")
    await world.gone_with_pod(MACHINES, "vm")
    for resource in (INSTANCES, PODS):
        assert not (await world.client.list(resource, world.namespace))["items"]
