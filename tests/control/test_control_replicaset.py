"""Replica sets on a real API server: as many instances as are asked for, whatever happens to them."""

from collections.abc import Callable

from control.world import World, instance
from eventual import eventually
from ingot.api.kubevirt import phase
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import INSTANCES, REPLICA_SETS
from ingot.kube.objects import condition, controller_of, is_deleting


def replica_set(replicas: int, **spec: object) -> Object:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": instance("it")["spec"]}
    wanted = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return {"metadata": {"name": "web"}, "spec": wanted}


async def living(world: World, count: int) -> list[Object]:
    """The instances that are there to stay, once there are so many."""

    async def look() -> list[Object] | None:
        listed = await world.client.list(INSTANCES, world.namespace)
        found = [each for each in listed["items"] if not is_deleting(each)]
        return found if len(found) == count and all(controller_of(each) for each in found) else None

    if count == 0:
        await eventually(lambda: _none(world))
        return []
    found = await eventually(look)
    assert found is not None
    return found


async def _none(world: World) -> bool:
    return not (await world.client.list(INSTANCES, world.namespace))["items"]


async def told(world: World, holds: Callable[[Object], object]) -> Object:
    return await world.until(REPLICA_SETS, "web", lambda each: "status" in each and holds(each["status"]))


async def scale(world: World, replicas: int) -> Object:
    patch = {"spec": {"replicas": replicas}}
    return await world.client.patch(REPLICA_SETS, "web", patch, world.namespace, subresource="scale")


async def test_it_grows_and_shrinks_by_the_scale_subresource(world: World) -> None:
    made = await world.create(REPLICA_SETS, replica_set(3))
    instances = await living(world, 3)
    assert all(name_of(each).startswith("web-") for each in instances)
    assert {(controller_of(each) or {})["uid"] for each in instances} == {uid_of(made)}
    ready = name_of(instances[1])
    await world.run(ready)
    await told(world, lambda status: (status["replicas"], status["readyReplicas"]) == (3, 1))

    seen = await world.client.get(REPLICA_SETS, "web", world.namespace, subresource="scale")
    assert (seen["status"]["replicas"], seen["status"]["selector"]) == (3, "app=web")
    await scale(world, 1)
    (kept,) = await living(world, 1)
    assert name_of(kept) == ready
    await scale(world, 7)
    assert ready in {name_of(each) for each in await living(world, 7)}
    await told(world, lambda status: status["replicas"] == 7)
    await world.heard("web", "SuccessfulDelete")


async def test_those_that_end_are_replaced(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(1))
    (first,) = await living(world, 1)
    await world.run(name_of(first))
    await world.end(name_of(first), phase.FAILED)

    async def another() -> bool:
        return uid_of((await living(world, 1))[0]) != uid_of(first)

    await eventually(another)


async def test_labels_decide_who_belongs_to_it(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(2))
    first, _ = await living(world, 2)
    await world.change(INSTANCES, name_of(first), {"metadata": {"labels": {"app": "lab"}}})
    await world.until(INSTANCES, name_of(first), lambda each: controller_of(each) is None)
    await told(world, lambda status: status["replicas"] == 2)
    assert not is_deleting(await world.get(INSTANCES, name_of(first)))

    await world.change(INSTANCES, name_of(first), {"metadata": {"labels": {"app": "web"}}})
    await living(world, 2)


async def test_a_paused_one_is_left_alone(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(1))
    (first,) = await living(world, 1)
    await world.change(REPLICA_SETS, "web", {"spec": {"paused": True}})
    await world.until(REPLICA_SETS, "web", lambda each: condition(each, "ReplicaPaused"))
    await world.client.delete(INSTANCES, name_of(first), world.namespace)
    await told(world, lambda status: status["replicas"] == 0)
    await world.gone(INSTANCES, name_of(first))
    await world.change(REPLICA_SETS, "web", {"spec": {"paused": False}})
    await living(world, 1)
    await world.until(REPLICA_SETS, "web", lambda each: not condition(each, "ReplicaPaused"))


async def test_deleting_it_deletes_them(world: World) -> None:
    await world.create(REPLICA_SETS, replica_set(2))
    await living(world, 2)
    await world.client.delete(REPLICA_SETS, "web", world.namespace)
    await living(world, 0)


async def test_instances_that_are_refused_are_told(world: World) -> None:
    wanted = replica_set(4)
    wanted["spec"]["template"]["metadata"]["annotations"] = {"not a key": "x"}
    await world.create(REPLICA_SETS, wanted)
    failed = await world.until(REPLICA_SETS, "web", lambda each: condition(each, "ReplicaFailure"))
    found = condition(failed, "ReplicaFailure") or {}
    assert (found["status"], found["reason"]) == ("True", "FailedCreate")
    assert "not a key" in found["message"]
    await world.heard("web", "FailedCreate")
    assert failed["status"]["replicas"] == 0
