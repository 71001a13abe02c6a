"""Fifty volumes at once: all are filled, a few at a time."""

from __future__ import annotations

import asyncio

import pytest

from guest.servers.nginx import Nginx
from ingot.api.cdi.names import TRANSFER
from ingot.api.resources import DATA_VOLUMES, PODS
from ingot.control.volumes.gate import TRANSFERS
from volumes.shelf import Shelf, phase, volume
from volumes.wares import MIB, Wares

MANY = 50


@pytest.mark.timeout(240)
async def test_fifty_at_once_are_all_filled_and_few_at_a_time(shelf: Shelf, web: Nginx, wares: Wares) -> None:
    source = {"http": {"url": f"{web.http}/small.raw"}}
    await shelf.make(*(volume(f"small-{number}", source, "2Mi") for number in range(MANY)))
    most, done = 0, 0
    async with asyncio.timeout(200):
        while done < MANY:
            pods = (await shelf.client.list(PODS, shelf.namespace, label_selector=TRANSFER))["items"]
            most = max(most, sum(each["status"].get("phase") in ("Pending", "Running", None) for each in pods))
            volumes = (await shelf.client.list(DATA_VOLUMES, shelf.namespace))["items"]
            assert not [each for each in volumes if phase(each) == "Failed"]
            done = sum(phase(each) == "Succeeded" for each in volumes)
            await asyncio.sleep(0.05)
    assert 1 < most <= TRANSFERS
    for number in (0, MANY - 1):
        assert await shelf.content(f"small-{number}", MIB) == wares.disk[:MIB]
