"""Each case gets a namespace of its own and a transcript that is held against the recording of kube-apiserver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest

from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from wire.by_client import ByClient
from wire.by_kubectl import ByKubectl
from wire.cli import Ingot
from wire.differences import DIFFERENCES
from wire.exchange import Exchange
from wire.kinds import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from wire.normal import Normal
from wire.shell import Kubectl, Terminal
from wire.talker import Conversation, Talker
from wire.transcript import Transcript


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--record", action="store_true", help="write down anew what kube-apiserver answers")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record", False) and config.getoption("--servers") != "kube":
        raise pytest.UsageError("--record writes down what kube-apiserver answers: give --servers kube, too")


def case_name(node: pytest.Item) -> str:
    """What the recording of a test is called: the same on both servers and through both clients."""
    assert isinstance(node, pytest.Function)
    params = node.callspec.params if hasattr(node, "callspec") else {}
    own = [str(value).replace("/", "_") for name, value in params.items() if name not in ("api_server", "talker")]
    module = node.module.__name__.rpartition(".")[2].removeprefix("test_wire_")
    return "/".join([module, "-".join([node.originalname.removeprefix("test_"), *own])])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A listed difference must be there: the case fails on Ingot's server, and on no other."""
    for item in items:
        on_ours = hasattr(item, "callspec") and item.callspec.params.get("api_server") == "ingot"
        if on_ours and (reason := DIFFERENCES.get(case_name(item))):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError))


@pytest.fixture
async def client(kubeconfig: Path) -> AsyncIterator[Client]:
    async with Client.connect(load(kubeconfig), on_warning=lambda _: None) as client:
        yield client


@pytest.fixture
async def namespace(client: Client) -> str:
    """A new namespace that has everything which namespaces are born with. It goes with the server."""
    name = f"wire-{uuid4().hex[:8]}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    await appears(client, SERVICE_ACCOUNTS, "default", name)
    await appears(client, CONFIG_MAPS, "kube-root-ca.crt", name)
    return name


async def appears(client: Client, resource: Resource, name: str, namespace: str) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                await client.get(resource, name, namespace)
            except ApiError as error:
                if error.code != 404:
                    raise
                await asyncio.sleep(0.01)
            else:
                return


@pytest.fixture(params=["client", "kubectl"])
def talker(request: pytest.FixtureRequest, client: Client, namespace: str) -> Talker:
    """Who does the case's operations."""
    if request.param == "client":
        return ByClient(client, namespace)
    return ByKubectl(request.getfixturevalue("shell"))


@pytest.fixture
def transcript(request: pytest.FixtureRequest, client: Client, namespace: str) -> Transcript:
    recording = request.config.getoption("--record", False)
    # One recording serves both clients; it is made through ours.
    through = getattr(request.node, "callspec", None) and request.node.callspec.params.get("talker")
    normal = Normal({namespace: "<namespace>", client.transport.config.server: "<server>"})
    return Transcript(case_name(request.node), normal, recording=recording and through != "kubectl")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A case fails if it was told anything else than what is recorded, whatever it looked at itself."""
    transcript = pyfuncitem.funcargs.get("transcript")
    try:
        result = yield
    except BaseException as error:
        if isinstance(transcript, Transcript) and transcript.differences:
            error.add_note(transcript.report())
        raise
    if isinstance(transcript, Transcript):
        transcript.finish()
    return result


@pytest.fixture
def case(talker: Talker, namespace: str, transcript: Transcript) -> Conversation:
    return Conversation(talker, namespace, transcript)


@pytest.fixture
async def http(client: Client, transcript: Transcript) -> AsyncIterator[Exchange]:
    async with aiohttp.ClientSession() as session:
        yield Exchange(session, client.transport.config, transcript)


@pytest.fixture
async def anonymous(client: Client, transcript: Transcript) -> AsyncIterator[Exchange]:
    """HTTP without a name of its own: the case gives one, or none."""
    config = replace(client.transport.config, token=None, certificate=None, key=None)
    async with aiohttp.ClientSession() as session:
        yield Exchange(session, config, transcript)


@pytest.fixture
def shell(kubectl: Path, kubeconfig: Path, namespace: str, kubectl_home: Path) -> Kubectl:
    """kubectl, of which nothing is written down."""
    return Kubectl(kubectl, kubeconfig, namespace, kubectl_home)


@pytest.fixture
def terminal(shell: Kubectl, transcript: Transcript) -> Terminal:
    """kubectl as people use it; every command is written down with what it printed."""
    return Terminal(shell, transcript)


@pytest.fixture(scope="session")
def kubectl_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kubectl")


@pytest.fixture
def ingot(kubeconfig: Path, tmp_path: Path) -> Iterator[Ingot]:
    """`ingot` in a new namespace."""
    namespace = f"cli-{uuid4().hex[:8]}"
    made = Ingot(kubeconfig, namespace, tmp_path)
    made("apply", "-f", "-", stdin=f"{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}")
    yield made
    made("delete", "namespace", namespace, "--no-wait")
