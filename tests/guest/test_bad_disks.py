"""Disks that are not as they should be: what is told of each, and that the machine starts once it is put right.

What is refused is tried again every 10 s, so all cases live at the same time, and each test waits for one of them. A
usage type that nobody offers is in test_usage_types.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from uuid import uuid4

import pytest
import pytest_asyncio

from guest import lab as living
from guest import manifests
from guest.bad_disks import CASES, BadDisk, why_not
from guest.lab import Lab
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(240)]


async def live(case: BadDisk) -> None:
    """A machine is refused for the reason, in words, with an event; put right, it runs."""
    await case.add(manifests.namespace(case.namespace))
    volume = {"name": "data", **await case.spoil()}
    machine = manifests.still(case.namespace, "vm", [{"name": "data", "disk": {"bus": "virtio"}}], [volume])
    async with living.created(case.client, machine) as made:
        message = await living.refused(case.client, made, case.reason)
        assert case.said in message
        instance = await living.instance_of(case.client, made)
        assert instance
        assert case.said in await living.warning_of(case.client, instance, case.reason)
        await case.mend()
        await living.running(case.client, made)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lives(lab: Lab) -> AsyncIterator[dict[str, asyncio.Task[None]]]:
    """Every case that this machine can have, on its way."""
    mark = uuid4().hex[:6]
    with ExitStack() as stack:
        async with Client.connect(load(lab.kubeconfig), on_warning=lambda _: None) as client:
            possible = {name: case for name, case in CASES.items() if not why_not(case)}
            cases = {name: case(lab, client, stack, f"{name}-{mark}") for name, case in possible.items()}
            tasks = {name: asyncio.create_task(live(case)) for name, case in cases.items()}
            yield tasks
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)


@pytest.mark.parametrize("name", CASES)
async def test_machine_is_refused_and_starts_once_its_disk_is_right(
    name: str, lives: dict[str, asyncio.Task[None]]
) -> None:
    lacking = why_not(CASES[name])
    if lacking:
        pytest.skip(lacking)
    await lives[name]
