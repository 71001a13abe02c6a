"""A whole machine, watched by a real Prometheus: a registry goes away, somebody is told, it comes back (G9)."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from eventual import eventually
from guest.servers.server import listens, wait_until
from images.servers.registry import DockerRegistry
from ingot.api.cdi.names import CHECK_NOW
from ingot.api.object import Object
from ingot.api.resources import DATA_IMPORT_CRONS, SECRETS
from ingot.images.disk import open_disk
from ingot.images.push import PushOptions, push_disk
from ingot.images.reference import Reference
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot.kube.objects import condition
from ingot_up import IngotUp, WholeMachine
from kube.process import Process
from kube.server import INGOT
from monitoring.prometheus import RULES, Prometheus

pytestmark = pytest.mark.skipif(bool(Prometheus.why_not()), reason=Prometheus.why_not())

DAY = 86400
DOCS = Path(__file__).parents[2] / "docs" / "monitoring.md"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IngotUp]:
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="ingot-") as place:
        patch.setenv("INGOT_CACHE", str(tmp_path_factory.mktemp("cache")))
        Path(place).chmod(0o755)
        with WholeMachine(Path(place) / "d", ("--metrics", "127.0.0.1:0")) as server:
            yield server


@pytest.fixture(scope="module")
def page(machine: IngotUp) -> str:
    """The URL of the figures, as `ingot status` tells it."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        command = [*INGOT, "status", "--dir", str(machine.directory), "--output", "json"]
        said = subprocess.run(command, capture_output=True, check=False).stdout
        if url := json.loads(said).get("metrics"):
            return str(url)
    raise AssertionError(f"no metrics: {said!r}")


@pytest.fixture
async def client(machine: IngotUp) -> AsyncIterator[Client]:
    async with Client.connect(load(machine.kubeconfig)) as made:
        yield made


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[DockerRegistry]:
    with DockerRegistry() as server:
        (tmp_path / "disk.raw").write_bytes(b"version 1".ljust(1 << 20, b"\0"))
        disk = open_disk(tmp_path / "disk.raw")
        try:
            with Registry(Settings()) as through:
                push_disk(through, disk, Reference.parse(f"{server.host}/test/disk:v1"), PushOptions())
        finally:
            disk.close()
        yield server


def text_of(page: str) -> str:
    with urllib.request.urlopen(page, timeout=10) as answer:  # noqa: S310
        return str(answer.read().decode())


def cron(url: str, **source: str) -> Object:
    """One that looks when it is told to."""
    storage = {"resources": {"requests": {"storage": "2Mi"}}}
    template = {"spec": {"source": {"registry": {"url": url, **source}}, "storage": storage}}
    return {
        "apiVersion": DATA_IMPORT_CRONS.api_version,
        "kind": DATA_IMPORT_CRONS.kind,
        "metadata": {"name": "disk", "namespace": "default"},
        "spec": {"schedule": "0 0 1 1 *", "managedDataSource": "disk", "template": template},
    }


async def test_every_metric_of_the_rules_and_docs_is_served_and_nothing_else(machine: IngotUp, page: str) -> None:
    async def full() -> bool:
        return "kubevirt_cdi_datavolume_pending" in await asyncio.to_thread(text_of, page)

    await eventually(full)
    served = set(re.findall(r"^# TYPE ((?:ingot|kubevirt)_\w+)", text_of(page), re.MULTILINE))
    rules = {rule["expr"] for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}
    named = {name for expression in rules for name in re.findall(r"\b(?:ingot|kubevirt_cdi)_\w+", expression)}
    assert named
    assert named <= served
    documented = set(re.findall(r"^\| `((?:ingot|kubevirt)_\w+)`", DOCS.read_text(), re.MULTILINE))
    assert documented == served


async def test_an_alert_fires_when_the_registry_goes_away_and_ends_when_it_is_back(
    machine: IngotUp, page: str, client: Client, registry: DockerRegistry
) -> None:
    expires = time.time() + 3 * DAY
    token = ".".join(base64.b64encode(part.encode()).decode() for part in ('{"alg":"x"}', f'{{"exp":{expires}}}', "x"))
    secret = {"accessKeyId": "me", "secretKey": token}
    await client.create(
        SECRETS,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "pull", "namespace": "default"},
            "stringData": secret,
        },
    )
    await client.create(DATA_IMPORT_CRONS, cron(f"docker://{registry.host}/test/disk:v1", secretRef="pull"))

    async def is_up_to_date() -> bool:
        found = await client.get(DATA_IMPORT_CRONS, "disk", "default")
        return (condition(found, "UpToDate") or {}).get("status") == "True"

    await eventually(is_up_to_date, 60)
    with Prometheus(page.removeprefix("http://").removesuffix("/metrics")) as prometheus:
        await fires(prometheus, "IngotCredentialExpiring", kind="Secret", ns="default", name="pull")
        assert prometheus.value("ingot_dataimportcron_up_to_date") == 1
        assert "IngotImageSourceUnreachable" not in prometheus.firing()
        os.kill(registry.process.pid, signal.SIGKILL)
        await look_now(client, "1")
        await fires(prometheus, "IngotImageSourceUnreachable", ns="default", cron_name="disk", severity="warning")
        again = ["docker-registry", "serve", str(registry.directory / "config.yml")]
        with Process("docker-registry", again, registry.directory / "again.log") as back:
            await asyncio.to_thread(wait_until, lambda: listens(registry.port), back)
            await look_now(client, "2")
            await ends(prometheus, "IngotImageSourceUnreachable")
            await ends(prometheus, "CDIDataImportCronOutdated")
    assert token not in text_of(page)


async def look_now(client: Client, value: str) -> None:
    patch = {"metadata": {"annotations": {CHECK_NOW: value}}}
    await client.patch(DATA_IMPORT_CRONS, "disk", patch, "default")


async def fires(prometheus: Prometheus, alert: str, **labels: str) -> None:
    async def look() -> bool:
        found = (await asyncio.to_thread(prometheus.firing)).get(alert, {})
        return bool(found) and labels.items() <= found.items()

    await eventually(look, 60)


async def ends(prometheus: Prometheus, alert: str) -> None:
    async def look() -> bool:
        return alert not in await asyncio.to_thread(prometheus.firing)

    await eventually(look, 60)
