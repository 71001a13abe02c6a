"""Refusals that say what happens next."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from ingot.disks.fault import DiskFault

RETRY_SECONDS = 10.0
# How long a filesystem may take to answer; one on a dead server never does.
PATIENCE_SECONDS = 10.0

T = TypeVar("T")


def refusal(volume: str, reason: str, message: str, retry: float = RETRY_SECONDS) -> DiskFault:
    """A fault that is tried again after `retry` seconds, and says so."""
    return DiskFault(volume, reason, f"{message}; tried again in {retry:g} s", retry)


def final(volume: str, reason: str, message: str) -> DiskFault:
    """A fault of the machine's own object, which no waiting mends."""
    return DiskFault(volume, reason, f"{message}; it stays as it is until the machine is changed", None)


async def patiently(volume: str, what: str, work: Callable[[], T]) -> T:
    """What `work` returns, done in a thread because it asks filesystems. Raises DiskFault when they do not answer."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(work), PATIENCE_SECONDS)
    except TimeoutError:
        message = f"{what} did not answer in {PATIENCE_SECONDS:g} s: look at the storage below it"
        raise refusal(volume, "Unreachable", message) from None
