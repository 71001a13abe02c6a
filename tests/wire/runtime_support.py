"""What the tests of the runtime share."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ingot.api.status import ApiError

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T]]) -> T:
    """The first true answer of `look`; what is not there yet is no answer."""
    async with asyncio.timeout(30):
        while True:
            try:
                if found := await look():
                    return found
            except ApiError as error:
                if error.code != 404:
                    raise
            await asyncio.sleep(0.02)
