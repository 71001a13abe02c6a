"""subresources.kubevirt.io through a real API server, with the node's agent played by the test."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from ingot.api.kubevirt.subresources import PLAIN
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import INSTANCES, MACHINES, NODES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.kubeconfig import Config, Material, load
from ingot.standalone.server import Server
from unit.control.machine_world import ROOT, World, running

ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with running(tmp_path_factory.mktemp("machine")) as made:
        yield made


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_start_and_stop_set_the_field_that_the_machine_uses(world: World) -> None:
    await world.machine("a1", running=False)
    await world.put("virtualmachines/a1/start", {})
    assert (await world.spec("a1"))["running"] is True
    assert await world.refused("virtualmachines/a1/start") == (
        409,
        _not("a1", "Always does not support manual start requests"),
    )
    await world.put("virtualmachines/a1/stop")
    assert (await world.spec("a1"))["running"] is False
    assert await world.refused("virtualmachines/a1/stop") == (409, _not("a1", "VM is not running"))
    await world.machine("a2", runStrategy="Halted")
    await world.put("virtualmachines/a2/start")
    assert (await world.spec("a2"))["runStrategy"] == "Always"


def _not(name: str, why: str, kind: str = "virtualmachine") -> str:
    return f'Operation cannot be fulfilled on {kind}.kubevirt.io "{name}": {why}'


async def test_a_running_machine_is_not_started(world: World) -> None:
    await world.machine("b1", runStrategy="Always")
    await world.instance("b1", "Running")
    assert await world.refused("virtualmachines/b1/start") == (409, _not("b1", "VM is already running"))


async def test_manual_machines_are_asked_for_through_their_status(world: World) -> None:
    await world.machine("c1", runStrategy="Manual")
    assert await world.refused("virtualmachines/c1/stop") == (409, _not("c1", "VM is not running"))
    await world.put("virtualmachines/c1/start", {"paused": True})
    assert await world.requests("c1") == [{"action": "Start", "data": {"paused": "true"}}]
    assert (await world.refused("virtualmachines/c1/start"))[0] == 409
    uid = (await world.instance("c1", "Running"))["metadata"]["uid"]
    await world.put("virtualmachines/c1/stop", {"gracePeriod": 3})
    assert await world.requests("c1") == [{"action": "Stop", "uid": uid}]
    instance = await world.client.get(INSTANCES, "c1", "lab")
    assert instance["spec"]["terminationGracePeriodSeconds"] == 3


async def test_a_finished_machine_is_stopped_before_it_is_started(world: World) -> None:
    await world.machine("d1", runStrategy="RerunOnFailure")
    uid = (await world.instance("d1", "Succeeded"))["metadata"]["uid"]
    await world.put("virtualmachines/d1/start")
    assert await world.requests("d1") == [{"action": "Stop", "uid": uid}, {"action": "Start"}]
    await world.machine("d2", runStrategy="RerunOnFailure")
    await world.instance("d2", "Failed")
    why = "RerunOnFailure does not support starting VM from failed state"
    assert await world.refused("virtualmachines/d2/start") == (409, _not("d2", why))


async def test_a_halted_machine_can_start_paused_and_be_stopped_sooner(world: World) -> None:
    await world.machine("e1", runStrategy="Halted")
    await world.put("virtualmachines/e1/start", {"paused": True})
    assert await world.requests("e1") == [{"action": "Start", "data": {"paused": "true"}}]
    await world.instance("e1", "Running")
    await world.client.patch(INSTANCES, "e1", {"spec": {"terminationGracePeriodSeconds": 30}}, "lab")
    why = "Halted only supports manual stop requests with a shorter graceperiod"
    assert await world.refused("virtualmachines/e1/stop", {"gracePeriod": 30}) == (409, _not("e1", why))
    await world.put("virtualmachines/e1/stop", {"gracePeriod": 0})
    assert [request["action"] for request in await world.requests("e1")] == ["Stop"]


async def test_restart_needs_an_instance_and_a_strategy_that_starts_again(world: World) -> None:
    await world.machine("f1", runStrategy="Always")
    assert await world.refused("virtualmachines/f1/restart") == (409, _not("f1", "VM is not running: Halted"))
    uid = (await world.instance("f1", "Running"))["metadata"]["uid"]
    assert (await world.refused("virtualmachines/f1/restart", {"gracePeriodSeconds": 5}))[0] == 400
    await world.put("virtualmachines/f1/restart", {"gracePeriodSeconds": 0})
    assert await world.requests("f1") == [{"action": "Stop", "uid": uid}, {"action": "Start"}]
    assert (await world.client.get(INSTANCES, "f1", "lab"))["spec"]["terminationGracePeriodSeconds"] == 0
    await world.machine("f2", runStrategy="Halted")
    why = "RunStategy Halted does not support manual restart requests"
    assert await world.refused("virtualmachines/f2/restart") == (409, _not("f2", why))


async def test_a_dry_run_changes_nothing(world: World) -> None:
    await world.machine("g1", runStrategy="Halted")
    await world.put("virtualmachines/g1/start", {"dryRun": ["All"]})
    assert (await world.spec("g1"))["runStrategy"] == "Halted"
    assert (await world.refused("virtualmachines/g1/start", {"dryRun": ["Some"]}))[0] == 422
    await world.instance("g1", "Running")
    await world.put("virtualmachineinstances/g1/pause", {"dryRun": ["All"]})
    assert ("pause", "lab", "g1") not in world.guests.asked


async def test_what_is_wrong_with_a_request_is_told(world: World) -> None:
    assert await world.refused("virtualmachines/none/start") == (404, 'virtualmachine.kubevirt.io "none" not found')
    assert (await world.refused("virtualmachineinstances/none/pause"))[0] == 404
    assert (await world.refused("virtualmachines/none/fly"))[0] == 404
    await world.machine("h1", runStrategy="Halted")
    assert (await world.refused("virtualmachines/h1/start", {"paused": "yes"}))[0] == 400


async def test_starts_at_the_same_moment_do_no_harm(world: World) -> None:
    await world.machine("i1", runStrategy="Manual")
    results = await asyncio.gather(*(world.put("virtualmachines/i1/start") for _ in range(5)), return_exceptions=True)
    assert results.count(None) == 1
    assert await world.requests("i1") == [{"action": "Start"}]


async def test_guests_are_paused_by_the_agent_of_their_node(world: World) -> None:
    await world.instance("j1", "Running")
    await world.put("virtualmachineinstances/j1/pause", {})
    assert ("pause", "lab", "j1") in world.guests.asked
    assert await world.refused("virtualmachineinstances/j1/unpause") == (
        409,
        _not("j1", "VMI is not paused", "virtualmachineinstance"),
    )
    await world.put("virtualmachineinstances/j1/softreboot")
    code, message = await world.refused("virtualmachineinstances/j1/reset")
    assert (code, "it is being started" in message) == (409, True)
    await world.instance("j2", "Running", ("Paused",))
    assert (await world.refused("virtualmachineinstances/j2/pause"))[1].endswith("VMI is already paused")
    assert (await world.refused("virtualmachineinstances/j2/softreboot"))[1].endswith("VMI is paused")
    await world.put("virtualmachineinstances/j2/unpause")
    assert ("unpause", "lab", "j2") in world.guests.asked
    await world.instance("j3", "Scheduling")
    assert (await world.refused("virtualmachineinstances/j3/pause"))[1].endswith("VM is not running")


async def test_a_console_goes_all_the_way_to_the_guest(world: World) -> None:
    await world.instance("k1", "Running")
    opened = await world.client.transport.websocket(f"{ROOT}/virtualmachineinstances/k1/console", protocols=(PLAIN,))
    async with opened:
        assert opened.protocol == PLAIN
        assert await opened.receive_bytes(timeout=5) == b"login: "
        await opened.send_bytes(b"root\n")
        assert await opened.receive_bytes(timeout=5) == b"ROOT\n"
        second = await world.client.transport.websocket(f"{ROOT}/virtualmachineinstances/k1/console")
        closing = await opened.receive(timeout=5)
        assert closing.extra == "another client has connected"
        await second.close()


@pytest.mark.parametrize(
    ("name", "phase", "devices", "code", "words"),
    [
        ("l1", "Scheduling", {}, 400, "VMI is not running"),
        ("l2", "Failed", {}, 409, "VMI is in failed status"),
        ("l3", "Running", {"autoattachSerialConsole": False}, 400, "No serial consoles are present."),
    ],
)
async def test_a_console_that_cannot_be_is_refused_in_words(
    world: World, name: str, phase: str, devices: Object, code: int, words: str
) -> None:
    await world.instance(name, phase, **devices)
    with pytest.raises(ApiError) as caught:
        await world.client.transport.websocket(f"{ROOT}/virtualmachineinstances/{name}/console")
    assert (caught.value.code, words in caught.value.message) == (code, True)


async def test_a_node_that_cannot_be_reached_is_named(world: World) -> None:
    far = {"ingot.io/agent-address": "https://10.0.0.1:8443"}
    await world.client.create(NODES, {"metadata": {"name": "far", "annotations": far}})
    await world.client.create(NODES, {"metadata": {"name": "mute"}})
    for node, words in (("far", "https://10.0.0.1:8443"), ("mute", "has not started"), ("lost", "gone")):
        await world.instance(f"m-{node}", "Running")
        status = {"status": {"nodeName": node}}
        await world.client.patch(INSTANCES, f"m-{node}", status, "lab", subresource="status")
        code, message = await world.refused(f"virtualmachineinstances/m-{node}/pause")
        assert (code, words in message, node in message) == (503, True, True)


async def test_rights_are_checked_before_anything_is_handed_on(world: World) -> None:
    await world.machine("n1", runStrategy="Halted")
    viewer, editor = await _user(world, "viewer", "view"), await _user(world, "editor", "edit")
    async with Client.connect(viewer) as client:
        with pytest.raises(ApiError) as caught:
            await client.call("PUT", f"{ROOT}/virtualmachines/n1/start")
        assert caught.value.code == 403
        assert '"virtualmachines/start" in API group "subresources.kubevirt.io"' in caught.value.message
        assert (await client.call("GET", "/apis/subresources.kubevirt.io/v1/version"))["gitVersion"]
        assert (await client.list(MACHINES, "lab"))["items"]
    async with Client.connect(editor) as client:
        await client.transport.request("PUT", f"{ROOT}/virtualmachines/n1/start")
    assert (await world.spec("n1"))["runStrategy"] == "Always"


async def _user(world: World, name: str, role: str) -> Config:
    await world.client.create(ACCOUNTS, {"metadata": {"name": name, "namespace": "lab"}})
    binding = {
        "metadata": {"name": name, "namespace": "lab"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "lab"}],
    }
    await world.client.create(ROLE_BINDINGS, binding)
    asked = {"metadata": {"namespace": "lab"}, "spec": {}}
    made = await world.client.create(ACCOUNTS, asked, name=name, subresource="token")
    config = load(world.directory / "kubeconfig")
    return replace(config, token=Material(made["status"]["token"].encode()), certificate=None, key=None)


async def test_discovery_names_the_group(world: World) -> None:
    call = world.client.call
    groups = {group["name"] for group in (await call("GET", "/apis"))["groups"]}
    assert "subresources.kubevirt.io" in groups
    assert (await call("GET", "/apis/subresources.kubevirt.io"))["preferredVersion"]["version"] == "v1"
    for version in ("v1", "v1alpha3"):
        listed = await call("GET", f"/apis/subresources.kubevirt.io/{version}")
        assert {"name": "virtualmachines/start"}.items() <= {**listed["resources"][-2]}.items()
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    raw = await world.client.transport.request("GET", "/apis", accept=accept)
    assert "subresources.kubevirt.io" in [each["metadata"]["name"] for each in msgspec.json.decode(raw)["items"]]


async def test_an_extension_that_is_down_is_told_and_hides_nothing_else(tmp_path: Path) -> None:
    server = Server(tmp_path, "127.0.0.1", 0, extension=tmp_path / "nobody.sock")
    await server.start()
    try:
        async with Client.connect(load(tmp_path / "kubeconfig")) as client:
            with pytest.raises(ApiError) as caught:
                await client.call("PUT", f"{ROOT}/virtualmachines/a/start")
            assert (caught.value.code, caught.value.reason) == (503, "ServiceUnavailable")
            with pytest.raises(ApiError) as caught:
                await client.transport.websocket(f"{ROOT}/virtualmachineinstances/a/console")
            assert caught.value.code == 503
            assert (await client.list(MACHINES, "default"))["items"] == []
    finally:
        await server.stop()


async def test_no_path_leads_to_what_it_does_not_name(world: World) -> None:
    transport = world.client.transport
    for path in ("/virtualmachines/%2e%2e/start", "/virtualmachines/x%2Fstart"):
        with pytest.raises(ApiError) as caught:
            await transport.request("PUT", f"{ROOT}{path}")
        assert caught.value.code == 404
    with pytest.raises(ApiError) as caught:
        await transport.request("GET", f"{ROOT}/virtualmachineinstances/x/vnc/screenshot")
    assert caught.value.code == 404
