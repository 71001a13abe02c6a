"""A whole server: listening, workers, control socket and metrics, from start to end."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ingot.serve.control import controlled
from ingot.serve.descriptors import as_many_as_allowed
from ingot.serve.entry import Entry
from ingot.serve.listening import Listener
from ingot.serve.supervisor import Supervisor, Terms


async def serve(
    listeners: Sequence[Listener],
    entries: Sequence[Entry],
    terms: Terms,
    *,
    control: Path | None = None,
    metrics: tuple[str, int] | None = None,
    ready: Callable[[int | None], None],
) -> None:
    """Serves until SIGTERM or SIGINT, then finishes what it was asked for. `ready` is called when clients are
    answered, with the port of the metrics. Raises ImageFault and WorkerLost."""
    as_many_as_allowed()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    supervisor = Supervisor(listeners, terms)
    async with contextlib.AsyncExitStack() as stack:
        for listener in listeners:
            stack.callback(listener.remove)
        if terms.security is not None:
            # What is wrong with it is told now, not to the first client.
            terms.security.context()
        port = None
        if metrics is not None:
            from ingot.serve.exposition import KIND
            from ingot.serve.metrics import figures
            from ingot.serve.page import shown

            port = await stack.enter_async_context(shown(partial(figures, supervisor), KIND, *metrics))
        if control is not None:
            await stack.enter_async_context(controlled(supervisor, control))
        await supervisor.run(entries, stop, lambda: ready(port))
