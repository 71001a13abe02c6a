"""Looking for the next request without falling asleep: to be woken takes longer than to answer a small read."""

import os
import threading
import time

from ingot.serve.transport import Transport

# A client that sends one request after the other sends the next one within this time after a reply.
_WINDOW = 60_000
# One at a time in a process: those who look keep its other threads from working.
_turn = threading.Lock()
_spare = len(os.sched_getaffinity(0)) > 1


class Watch:
    """Receives for one client. It looks again and again for a moment, and only while the client's last request came
    within such a moment and there is a second CPU; else, and after that, it sleeps. So a client who is slow costs
    nothing, and a quick one at most a moment for each of its requests."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._quick = _spare

    def receive(self, view: memoryview) -> int:
        """As that of the transport."""
        if self._quick and _turn.acquire(blocking=False):
            try:
                count = self._look(view)
            finally:
                _turn.release()
            if count is not None:
                return count
        began = time.perf_counter_ns()
        count = self._transport.receive(view)
        self._quick = _spare and time.perf_counter_ns() - began < _WINDOW
        return count

    def _look(self, view: memoryview) -> int | None:
        glance, clock = self._transport.glance, time.perf_counter_ns
        end = clock() + _WINDOW
        while (count := glance(view)) is None and clock() < end:
            pass
        return count
