"""Waiting for what comes to be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ingot.api.status import ApiError

T = TypeVar("T")


async def eventually(look: Callable[[], Awaitable[T | None]], seconds: float = 30.0) -> T:
    """The first true answer of `look`. What is not there yet, or was changed meanwhile, is no answer."""
    last: object = None
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    answer = await look()
                    if answer:
                        return answer
                    last = answer
                except ApiError as error:
                    if error.code not in (404, 409):
                        raise
                    last = error
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"it did not come in {seconds:g} s; the last answer was {last!r}") from None
