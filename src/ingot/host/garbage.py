"""The garbage collector of processes that fill their memory once, at the start."""

import asyncio
import gc


def collect_after_start(seconds: float) -> None:
    """Leaves the collector off until the running loop is so many seconds older, and then lets it look at all that is
    new since. What a start leaves in memory stays, and to look at it again and again took two fifths of a start with
    20,000 volumes."""
    gc.disable()
    asyncio.get_running_loop().call_later(seconds, _settle)


def _settle() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
