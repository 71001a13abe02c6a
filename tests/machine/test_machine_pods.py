"""Pods run on one machine: phases, restarts, deletion, adoption."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resources import LEASES, NODES, PODS
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_true
from ingot.standalone.pods.runner import PodRunner
from ingot.standalone.pods.running import Memory, Running
from ingot.standalone.pods.status import Picture
from machine.machine_support import events_of, running
from machine.pod_support import (
    NODE,
    a_bound_pod,
    a_container,
    directory_of,
    gone,
    log_of,
    processes_of,
    reached,
    waiting,
)


@pytest.fixture
def kubelet(tmp_path: Path) -> Path:
    return tmp_path / "kubelet"


@pytest.fixture
async def runner(client: Client, kubelet: Path) -> AsyncIterator[None]:
    async with running(client, lambda manager: PodRunner(manager, NODE, kubelet)):
        yield
        for pod in (await client.list(PODS))["items"]:
            await client.delete(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], grace_period=0)
        await eventually(lambda: nothing_left(kubelet))


async def nothing_left(kubelet: Path) -> bool:
    return not processes_of(kubelet) and not list((kubelet / "pods").glob("*"))


@pytest.mark.usefixtures("runner")
async def test_the_machine_is_a_node(client: Client) -> None:
    async def look() -> Object | None:
        found = await client.get(NODES, NODE)
        return found if is_true(found, "Ready") else None

    node = await eventually(look)
    assert node is not None
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    assert node["status"]["capacity"].keys() == {"cpu", "memory", "pods", "ephemeral-storage"}
    assert node["status"]["nodeInfo"]["operatingSystem"] == "linux"
    lease = await eventually(lambda: client.get(LEASES, NODE, "kube-node-lease"))
    assert lease["spec"]["holderIdentity"] == NODE
    assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]


@pytest.mark.usefixtures("runner")
async def test_a_pod_runs_and_is_ready(client: Client, namespace: str) -> None:
    pod = await client.create(PODS, a_bound_pod(namespace, "p"))
    found = await reached(client, pod, "Running")
    for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready"):
        assert is_true(found, kind), kind
    status = found["status"]
    assert (status["hostIP"], status["qosClass"]) == ("127.0.0.1", "BestEffort")
    assert status["podIPs"] == [{"ip": status["podIP"]}]
    [container] = status["containerStatuses"]
    assert (container["ready"], container["restartCount"]) == (True, 0)
    assert "startedAt" in container["state"]["running"]


@pytest.mark.usefixtures("runner")
async def test_pods_listen_on_one_port_each_on_its_own_address(client: Client, namespace: str) -> None:
    serve = "import http.server, os; http.server.HTTPServer((os.environ['POD_IP'], 18444), H).serve_forever()"
    told = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    answer = f"class H(http.server.BaseHTTPRequestHandler):\n do_GET = lambda self: self.send_error(200)\n{serve}"
    program = f"import http.server\n{answer}"
    probe = {"httpGet": {"port": 18444}, "periodSeconds": 1}
    main = {**a_container(env=told, readinessProbe=probe), "command": ["python3", "-c", program]}
    pods = [await client.create(PODS, a_bound_pod(namespace, name, main)) for name in ("one", "two")]
    found = []
    for pod in pods:

        async def ready(name: str = pod["metadata"]["name"]) -> Object | None:
            seen = await client.get(PODS, name, namespace)
            return seen if is_true(seen, "Ready") else None

        found.append((await eventually(ready))["status"]["podIP"])
    assert len(set(found)) == 2
    assert "127.0.0.1" not in found


@pytest.mark.usefixtures("runner")
async def test_a_hundred_pods_at_once(client: Client, namespace: str) -> None:
    pods = await asyncio.gather(
        *(
            client.create(PODS, a_bound_pod(namespace, f"p{index}", a_container("exec sleep 60")))
            for index in range(100)
        )
    )
    await asyncio.gather(*(reached(client, pod, "Running") for pod in pods))
    await asyncio.gather(*(client.delete(PODS, pod["metadata"]["name"], namespace) for pod in pods))
    await asyncio.gather(*(gone(client, pod) for pod in pods))


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (9, "Failed")])
async def test_a_pod_that_is_never_restarted_ends_as_its_container_does(
    client: Client, namespace: str, kubelet: Path, code: int, phase: str
) -> None:
    script = f"echo bye > /dev/termination-log; echo here; exit {code}"
    pod = await client.create(PODS, a_bound_pod(namespace, "p", a_container(script)))
    found = await reached(client, pod, phase)
    state = found["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (state["exitCode"], state["message"]) == (code, "bye\n")
    assert log_of(kubelet, pod) == "here\n"
    assert not is_true(found, "Ready")


@pytest.mark.usefixtures("runner")
async def test_init_containers_come_first_and_in_order(client: Client, namespace: str, kubelet: Path) -> None:
    mounts = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
    init = [a_container(f"echo {name} >> /v/order", name, **mounts) for name in ("one", "two")]
    main = a_container("cat /v/order; sleep 60", **mounts)
    pod = await client.create(
        PODS, a_bound_pod(namespace, "p", main, initContainers=init, volumes=[{"name": "v", "emptyDir": {}}])
    )
    await reached(client, pod, "Running")
    await eventually(lambda: said(kubelet, pod, "one\ntwo\n"))


async def said(kubelet: Path, pod: Object, text: str) -> bool:
    return log_of(kubelet, pod) == text


@pytest.mark.usefixtures("runner")
async def test_an_init_container_that_fails_fails_the_pod(client: Client, namespace: str) -> None:
    pod = await client.create(
        PODS, a_bound_pod(namespace, "p", initContainers=[a_container("exit 3", "first")], restartPolicy="Never")
    )
    found = await reached(client, pod, "Failed")
    assert found["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert (condition(found, "Initialized") or {})["status"] == "False"


@pytest.mark.usefixtures("runner")
async def test_a_container_that_fails_is_started_again_and_then_later(client: Client, namespace: str) -> None:
    pod = await client.create(PODS, a_bound_pod(namespace, "p", a_container("exit 1"), restartPolicy="OnFailure"))
    message = await waiting(client, pod, "CrashLoopBackOff")
    assert message == "container main ended with exit code 1; started again 10 s after that"
    found = await client.get(PODS, "p", namespace)
    [container] = found["status"]["containerStatuses"]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert await eventually(lambda: events_of(client, pod, "BackOff"))


@pytest.mark.usefixtures("runner")
async def test_a_container_that_ignores_sigterm_is_killed_after_its_grace(
    client: Client, namespace: str, kubelet: Path
) -> None:
    script = 'trap "" TERM; echo up; while :; do sleep 1; done'
    pod = await client.create(PODS, a_bound_pod(namespace, "p", a_container(script)))
    await reached(client, pod, "Running")
    await eventually(lambda: said(kubelet, pod, "up\n"))
    began = time.monotonic()
    await client.delete(PODS, "p", namespace)
    await gone(client, pod)
    assert time.monotonic() - began > 0.8
    assert not directory_of(kubelet, pod).exists()
    assert not processes_of(kubelet)


@pytest.mark.usefixtures("runner")
async def test_a_pod_that_is_active_for_too_long_fails_and_ends(client: Client, namespace: str, kubelet: Path) -> None:
    pod = await client.create(PODS, a_bound_pod(namespace, "p", activeDeadlineSeconds=1))
    found = await reached(client, pod, "Failed")
    assert found["status"]["reason"] == "DeadlineExceeded"

    async def ended() -> bool:
        status = (await client.get(PODS, "p", namespace))["status"]
        return "terminated" in status["containerStatuses"][0]["state"]

    await eventually(ended)
    assert not processes_of(kubelet)


@pytest.mark.usefixtures("runner")
async def test_the_launcher_ends_when_its_pipe_is_closed(client: Client, namespace: str, kubelet: Path) -> None:
    script = 'trap "" TERM; mkfifo -m 600 "$0"; exec cat "$0"'
    launcher = {
        **a_container(script),
        "command": ["sh", "-c", script, "/private/end"],
        "volumeMounts": [{"name": "private", "mountPath": "/private"}],
    }
    pod = await client.create(
        PODS,
        a_bound_pod(
            namespace, "p", launcher, volumes=[{"name": "private", "emptyDir": {}}], terminationGracePeriodSeconds=60
        ),
    )
    await reached(client, pod, "Running")
    pipe = directory_of(kubelet, pod) / "volumes/kubernetes.io~empty-dir/private/end"
    await eventually(lambda: asyncio.to_thread(pipe.is_fifo))
    await client.delete(PODS, "p", namespace)
    with await asyncio.to_thread(pipe.open, "wb"):
        pass
    assert await gone(client, pod)


async def test_pods_outlive_the_runner_and_are_found_again(client: Client, namespace: str, kubelet: Path) -> None:
    def add(manager: Manager) -> None:
        PodRunner(manager, NODE, kubelet)

    async with running(client, add):
        stays = await client.create(PODS, a_bound_pod(namespace, "stays"))
        ends = await client.create(PODS, a_bound_pod(namespace, "ends", a_container("exit 5")))
        goes = await client.create(PODS, a_bound_pod(namespace, "goes"))
        await reached(client, stays, "Running")
        await reached(client, goes, "Running")
        await reached(client, ends, "Failed")
    before = processes_of(kubelet)
    assert before
    await client.delete(PODS, "goes", namespace, grace_period=0)
    async with running(client, add):
        await eventually(lambda: asyncio.to_thread(lambda: not directory_of(kubelet, goes).exists()))
        found = await reached(client, stays, "Running")
        assert found["status"]["containerStatuses"][0]["restartCount"] == 0
        assert set(processes_of(kubelet)) < set(before)
        for pod in (stays, ends):
            await client.delete(PODS, pod["metadata"]["name"], namespace)
            await gone(client, pod)
        await eventually(lambda: nothing_left(kubelet))


async def test_a_container_that_ends_while_a_later_runner_looks_at_it_has_ended(
    client: Client, namespace: str, kubelet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def add(manager: Manager) -> PodRunner:
        return PodRunner(manager, NODE, kubelet)

    end, step = tmp_path / "end", Running.step

    async def step_and_end(self: Running, pod: Object, memory: Memory) -> tuple[Picture, float]:
        picture, wait = await step(self, pod, memory)
        end.touch()
        for attempt in (view.attempt for view in picture.main if view.running):
            process = attempt.process() if attempt else None
            if process is not None:
                await process.ended()
        return picture, wait

    async with running(client, add):
        script = f"until test -e {end}; do sleep 0.01; done"
        pod = await client.create(PODS, a_bound_pod(namespace, "p", a_container(script)))
        await reached(client, pod, "Running")
    monkeypatch.setattr(Running, "step", step_and_end)
    async with running(client, add):
        await reached(client, pod, "Succeeded")
        await client.delete(PODS, "p", namespace)
        await eventually(lambda: nothing_left(kubelet))


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}, "spec.containers[0].lifecycle"),
        ({"livenessProbe": {"grpc": {"port": 1}}}, "spec.containers[0].livenessProbe.grpc"),
    ],
)
async def test_what_cannot_be_done_is_refused_by_name(
    client: Client, namespace: str, fields: Object, named: str
) -> None:
    pod = await client.create(PODS, a_bound_pod(namespace, "p", a_container(**fields)))
    found = await reached(client, pod, "Failed")
    assert found["status"]["reason"] == "UnsupportedFeature"
    assert named in found["status"]["message"]


@pytest.mark.usefixtures("runner")
async def test_probes_say_when_a_container_is_ready_and_end_one_that_is_not_alive(
    client: Client, namespace: str, kubelet: Path
) -> None:
    often = {"periodSeconds": 1, "failureThreshold": 1}
    container = a_container(
        "sleep 60",
        readinessProbe={"exec": {"command": ["test", "-e", "/v/ready"]}, **often},
        livenessProbe={"exec": {"command": ["test", "!", "-e", "/v/sick"]}, **often},
        volumeMounts=[{"name": "v", "mountPath": "/v"}],
    )
    pod = await client.create(PODS, a_bound_pod(namespace, "p", container, volumes=[{"name": "v", "emptyDir": {}}]))
    found = await reached(client, pod, "Running")
    assert not is_true(found, "Ready")
    volume = directory_of(kubelet, pod) / "volumes/kubernetes.io~empty-dir/v"
    (volume / "ready").touch()

    async def ready() -> bool:
        return is_true(await client.get(PODS, "p", namespace), "Ready")

    await eventually(ready)
    (volume / "sick").touch()
    await reached(client, pod, "Failed")
    assert await eventually(lambda: events_of(client, pod, "Killing"))
