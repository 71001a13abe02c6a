"""`ingot up` as an ordinary user: guests from files and claims, and what needs root says so."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Self
from uuid import uuid4

import pytest

from guest import lab as living
from guest import manifests, parts
from guest.disks import FILE, content, data_disk
from guest.lab import Lab
from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object, name_of, uid_of
from ingot.api.resources import EVENTS, LEASES, MACHINES, VOLUME_CLAIMS
from ingot.disks.holder import LABEL
from ingot.kube.client import Client
from ingot_up import IngotUp
from kube.process import Process
from kube.server import INGOT

pytestmark = pytest.mark.timeout(200)

# User 1000 without any capability; root's files are his, so that a test which root runs can make them.
ORDINARY = ["unshare", "--user", "--map-user=1000", "--map-group=1000"] if os.geteuid() == 0 else []


class UserLab(Lab):
    """A lab of an ordinary user."""

    user = ORDINARY

    def __init__(self) -> None:
        super().__init__()
        listen = f"127.0.0.1:{self.port}"
        command = [*ORDINARY, *INGOT, "up", "--dir", str(self.directory), "--listen", listen]
        self.process = Process("ingot up", command, self.directory.with_suffix(".log"))

    def __enter__(self) -> Self:
        IngotUp.__enter__(self)
        return self


@pytest.fixture(scope="module")
def user_lab(guest_image: Path) -> Iterator[UserLab]:
    if ORDINARY and subprocess.run([*ORDINARY, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces, in which root could be an ordinary user")
    with UserLab() as lab:
        yield lab


@pytest.fixture
async def client(user_lab: UserLab) -> AsyncIterator[Client]:
    async with parts.connected(user_lab) as client:
        yield client


def claim(mode: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": "default", "name": f"{mode.lower()}-{uuid4().hex[:6]}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": mode,
            "resources": {"requests": {"storage": "8Mi"}},
        },
    }


async def test_a_guest_of_an_ordinary_user(user_lab: UserLab, client: Client) -> None:
    await living.node_name(client)
    digest = data_disk(user_lab.home / "data.img", content("ordinary"))
    made = await client.create(VOLUME_CLAIMS, claim("Filesystem"))
    copy = {"mode": "copy-on-write"}
    volumes: list[Object] = [
        {"name": "copy", "copy": copy, "hostDisk": {"path": str(user_lab.home / "data.img"), "type": "Disk"}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": name_of(made)}},
    ]
    disks = [{"name": each["name"], "serial": each["name"], "disk": {}} for each in volumes]
    machine = await client.create(MACHINES, manifests.machine("default", "mine", user_lab.boot, disks, volumes))
    instance = await living.running(client, machine, 90)
    async with living.console_of(client, instance) as console:
        await console.ready()
        assert await console.run(f"digest copy {FILE}") == digest
        await console.run("echo mine >$(disk claim) && sync && mountdisk copy && touch /mnt/copy/x && umount /mnt/copy")
        assert await console.run("head -c 4 $(disk claim)") == "mine"
    (qemu,) = parts.qemus(user_lab, instance)
    assert user_of(qemu) == user_of(user_lab.process.pid)
    await living.deleted(client, machine)
    assert parts.qemus(user_lab, instance) == []
    await nothing_left(user_lab, client)


def user_of(pid: int) -> list[str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return [line for line in lines if line.startswith(("Uid:", "CapEff:"))]


async def nothing_left(lab: Lab, client: Client) -> None:
    left: list[str] = []

    async def clear() -> bool:
        leases = (await client.list(LEASES, SYSTEM_NAMESPACE, label_selector=LABEL))["items"]
        left[:] = [*parts.on_node(lab), *map(name_of, leases)]
        return not left

    await living.eventually(clear, lambda: left, 30)


async def test_a_block_claim_says_that_it_needs_root(user_lab: UserLab, client: Client) -> None:
    await living.node_name(client)
    made = await client.create(VOLUME_CLAIMS, claim("Block"))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": name_of(made)}}
    machine = manifests.still("default", "block", [{"name": "data", "disk": {}}], [volume])
    created = await client.create(MACHINES, machine)
    selector = f"involvedObject.uid={uid_of(made)},type=Warning"
    messages: list[str] = []

    async def told() -> bool:
        events = await client.list(EVENTS, "default", field_selector=selector)
        messages[:] = [event["message"] for event in events["items"]]
        return any("only root may" in message for message in messages)

    await living.eventually(told, lambda: messages, 30)
    await living.deleted(client, created)


def test_the_doctor_of_an_ordinary_user(user_lab: UserLab) -> None:
    command = [*ORDINARY, *INGOT, "doctor", "--dir", str(user_lab.directory), "-o", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["canBoot"] is True
