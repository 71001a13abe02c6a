"""A process of controllers that dies after any of its writes."""

import asyncio
from typing import Any

from ingot.api.object import Object
from ingot.kube.client import Client


class Dying(Client):
    """A client of which nothing is heard any more after so many writes to objects; events are not counted."""

    def __init__(self, client: Client, writes: int) -> None:
        super().__init__(client.transport)
        self.left = writes
        self.died = asyncio.Event()

    async def call(self, method: str, path: str, *arguments: Any, **more: Any) -> Object:
        if method != "GET" and "/events" not in path:
            if self.left == 0:
                self.died.set()
                await asyncio.Event().wait()
            self.left -= 1
        return await super().call(method, path, *arguments, **more)
