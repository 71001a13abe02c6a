"""Hearing of the end of processes that are nobody's children."""

import asyncio
import os
from collections.abc import Callable

from ingot.host.process import Process


class Exits:
    """Calls back once for each process when it has ended. It costs a descriptor each, and no time."""

    def __init__(self) -> None:
        self._watched: dict[Process, int] = {}

    def watch(self, process: Process, ended: Callable[[], None]) -> None:
        """Call `ended` when the process has; soon, if it has already. A process is watched once."""
        if process in self._watched:
            return
        loop = asyncio.get_running_loop()
        try:
            descriptor = os.pidfd_open(process.pid)
        except ProcessLookupError:
            loop.call_soon(ended)
            return

        def tell() -> None:
            self._forget(process)
            ended()

        self._watched[process] = descriptor
        loop.add_reader(descriptor, tell)
        if not process.alive:
            # The number belongs to another by now, whose end is not what was asked for.
            self._forget(process)
            loop.call_soon(ended)

    def _forget(self, process: Process) -> None:
        descriptor = self._watched.pop(process, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
