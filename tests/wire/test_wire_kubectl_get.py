"""kubectl as people use it: to look."""

import time

import pytest

from ingot.api.object import Object
from ingot.kube.client import Client
from ingot.kube.clock import timestamp
from wire.customs import gadget, served, version
from wire.kinds import CLAIMS, CONFIG_MAPS, EVENTS, PODS, SECRETS, SERVICES, claim, config_map, pod
from wire.shell import Terminal


@pytest.fixture(autouse=True)
async def things(client: Client, namespace: str) -> None:
    """Some objects to look at."""
    service: Object = {
        "metadata": {"name": "web"},
        "spec": {"clusterIP": "None", "ports": [{"port": 80, "name": "http"}]},
    }
    for resource, obj in (
        (CONFIG_MAPS, config_map("beta", {"of": "case"}, a="1", b="2")),
        (CONFIG_MAPS, config_map("alpha", {"of": "case"}, c="3")),
        (PODS, pod("web", nodeName="node-1")),
        (CLAIMS, claim("disk", storageClassName="slow")),
        (SECRETS, {"metadata": {"name": "key"}, "stringData": {"password": "secret"}}),
        (SERVICES, service),
    ):
        await client.create(resource, {**obj, "metadata": {**obj["metadata"], "namespace": namespace}})


async def test_get_prints_a_table(terminal: Terminal) -> None:
    output = await terminal("get configmaps")
    assert output.out.splitlines()[0].split() == ["NAME", "DATA", "AGE"]
    for kind in ("pods", "pvc", "secrets", "svc", "sa", "events"):
        assert (await terminal(f"get {kind}")).code == 0, kind


async def test_get_wide_prints_more(terminal: Terminal) -> None:
    for kind in ("pods", "pvc", "svc"):
        assert (await terminal(f"get {kind} -o wide")).code == 0, kind


async def test_get_of_several_kinds(terminal: Terminal) -> None:
    output = await terminal("get pods,services,configmap/alpha")
    assert "pod/web" in output.err or (await terminal("get pods,services")).code == 0


async def test_get_in_all_namespaces(terminal: Terminal) -> None:
    output = await terminal("get configmaps -A -l of=case", view=only_header)
    assert output.out.splitlines()[0].split() == ["NAMESPACE", "NAME", "DATA", "AGE"]


def only_header(text: str) -> str:
    return text.splitlines()[0]


async def test_get_names_and_fields(terminal: Terminal) -> None:
    assert (await terminal("get configmaps -l of=case -o name")).out == "configmap/alpha\nconfigmap/beta\n"
    output = await terminal("get configmaps -l of=case -o jsonpath='{.items[*].data.a}'")
    assert output.out == "1"
    await terminal("get configmap alpha -o yaml")
    await terminal("get configmaps -l of=case -o custom-columns=NAME:.metadata.name,C:.data.c")


async def test_get_sorts(terminal: Terminal) -> None:
    output = await terminal("get configmaps -l of=case --sort-by=.data.c -o name")
    assert output.code == 0
    await terminal("get configmaps -l of=case --sort-by=.metadata.name --no-headers")


async def test_get_shows_labels(terminal: Terminal) -> None:
    await terminal("get configmaps -l of=case --show-labels")
    await terminal("get configmaps -l of=case -L of")


async def test_get_says_what_is_not_there(terminal: Terminal) -> None:
    assert (await terminal("get configmap nothing")).code == 1
    assert (await terminal("get unicorns")).code == 1
    assert (await terminal("get leases")).out == ""
    assert (await terminal("get pods web nothing")).code == 1
    assert (await terminal("get configmap nothing --ignore-not-found")).code == 0


async def test_get_in_chunks(terminal: Terminal) -> None:
    output = await terminal("get configmaps -l of=case --chunk-size=1 -o name")
    assert output.out == "configmap/alpha\nconfigmap/beta\n"


async def test_get_raw(terminal: Terminal, namespace: str) -> None:
    assert (await terminal("get --raw /healthz")).out == "ok"
    assert (await terminal(f"get --raw /api/v1/namespaces/{namespace}/configmaps/nothing")).code == 1


async def test_custom_kinds_have_columns_and_short_names(terminal: Terminal, client: Client, namespace: str) -> None:
    columns = [
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    resource = await served(client, namespace, version(additionalPrinterColumns=columns))
    obj = gadget(resource, "one")
    obj["metadata"]["namespace"] = namespace
    await client.create(resource, obj)
    full = f"gadgets.{resource.group}"
    await terminal(f"get {full}")
    wide = await terminal(f"get {full} -o wide")
    assert wide.out.splitlines()[0].split() == ["NAME", "COLOUR", "SIZE", "AGE"]
    await terminal(f"get {full} one -o name")
    await terminal(f"get crd {full}", view=lambda text: text.splitlines()[0].split()[0])


async def test_describe_tells_the_story_of_an_object(terminal: Terminal, client: Client, namespace: str) -> None:
    event = {
        "metadata": {"name": "told", "namespace": namespace},
        "involvedObject": {"kind": "PersistentVolumeClaim", "name": "disk", "namespace": namespace},
        "reason": "Told",
        "message": "something happened",
        "type": "Normal",
        "count": 2,
        "source": {"component": "wire"},
        "firstTimestamp": "2020-01-01T00:00:00Z",
        "lastTimestamp": "2020-01-01T00:00:00Z",
    }
    await client.create(EVENTS, event)
    for target in ("configmap alpha", "secret key", "service web", "sa default"):
        assert (await terminal(f"describe {target}", view=untimed)).code == 0, target
    await terminal("describe pod web", view=untimed)


async def test_describe_tells_what_a_namespace_may_hold(terminal: Terminal) -> None:
    assert (await terminal("describe namespace default")).code == 0


def untimed(text: str) -> str:
    """A description without the times that are written in words."""
    return "\n".join(line for line in text.splitlines() if ":" not in line or "Time" not in line.split(":")[0])


async def test_events_are_told(terminal: Terminal, client: Client, namespace: str) -> None:
    # From eight years on kubectl tells whole years.
    long_ago = timestamp(time.time() - 9.5 * 365 * 86400)
    event = {
        "metadata": {"name": "told", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": "web", "namespace": namespace},
        "reason": "Told",
        "message": "something happened",
        "type": "Warning",
        "count": 1,
        "firstTimestamp": long_ago,
        "lastTimestamp": long_ago,
    }
    await client.create(EVENTS, event)
    await terminal("events")
    await terminal("events --for pod/web --types=Warning")
    await terminal("get events --field-selector reason=Told,involvedObject.name=web")


async def test_get_watches(terminal: Terminal, client: Client, namespace: str) -> None:
    async with terminal.following("get configmaps -l of=case --watch --output-watch-events") as printed:
        for _ in range(3):
            await printed()
        await client.patch(CONFIG_MAPS, "alpha", {"data": {"d": "4"}}, namespace)
        assert "MODIFIED" in await printed()
        await client.delete(CONFIG_MAPS, "beta", namespace)
        assert "DELETED" in await printed()
