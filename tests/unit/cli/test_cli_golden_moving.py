"""A command that moves a golden image, and is interrupted."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest
from golden_images import golden, made

from ingot.api.cdi.names import PINNED
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.cli.connection import Session
from ingot.cli.golden.moving import move


class SlowServer:
    """A client whose server has taken the first change and is slow to answer; `pins`: those answered, in order."""

    def __init__(self) -> None:
        self.has_taken = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.pins: list[str | None] = []

    async def patch(self, resource: Resource, name: str, change: Object, namespace: str) -> None:
        self.has_taken.set()
        await self.may_answer.wait()
        self.pins.append(change["metadata"]["annotations"][PINNED])


async def test_a_pin_whose_answer_is_still_awaited_is_taken_back_after_it() -> None:
    server = SlowServer()
    image = golden(2, made(1), made(2))
    session = cast(Session, SimpleNamespace(client=server))
    moving = asyncio.create_task(move(session, image, image.kept[-1], 10))
    await server.has_taken.wait()
    moving.cancel()
    await asyncio.sleep(0)
    server.may_answer.set()
    with pytest.raises(asyncio.CancelledError):
        await moving
    assert server.pins == [image.kept[-1].digest, None]
