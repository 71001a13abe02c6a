"""How far workers are, asked over HTTP: none of them can keep us, mislead us far, or fill our memory."""

import asyncio
import logging
from collections.abc import Callable

import aiohttp
import msgspec

from ingot.api.cdi.names import PROGRESS_PORT
from ingot.api.object import Object, uid_of
from ingot.control.reach import Line, Reach
from ingot.control.volumes.filler import Reading
from ingot.control.volumes.outcome import plain
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock

log = logging.getLogger(__name__)

POLL_SECONDS = 2.0
# The answer is a hundred bytes.
_MOST_BYTES = 4096
_MOST_NUMBER = 1 << 62
# Uploads are not counted by the gate: thousands of them must not become thousands of connections at once.
_AT_ONCE = 16
_REFUSED = (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError, RecursionError, ValueError)


class _Answer(msgspec.Struct):
    done: int
    total: int = 0
    rate: int = 0
    refused: str = ""


def read(body: bytes) -> Reading:
    """The reading in a worker's answer. Raises ValueError or MsgspecError for anything else."""
    answer = msgspec.json.decode(body, type=_Answer)
    numbers = (answer.done, answer.total, answer.rate)
    if not all(0 <= number < _MOST_NUMBER for number in numbers):
        raise ValueError(f"numbers out of bounds: {numbers}")
    done = min(answer.done, answer.total) if answer.total else answer.done
    return Reading(done, answer.total, answer.rate, plain(answer.refused))


class Readings:
    """The last reading of each worker that is asked for, taken every other second while `run` runs.

    `changed` is told the key of a target whose reading is another than before.
    """

    def __init__(
        self,
        changed: Callable[[Key], None],
        clock: Clock = SYSTEM,
        port: int = PROGRESS_PORT,
        reach: Reach = Reach(),  # noqa: B008, it is frozen
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._port = port
        self._reach = reach
        self._pods: dict[Key, tuple[str, Line]] = {}
        self._last: dict[Key, tuple[str, Reading]] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._wanted = asyncio.Event()

    def of(self, key: Key, pod: Object) -> Reading | None:
        """The last reading of the pod, which is asked from now on; None before it has answered."""
        line = self._reach.line(pod, self._port)
        if line is None:
            return None
        self._pods[key] = uid_of(pod), line
        self._wanted.set()
        uid, reading = self._last.get(key, ("", None))
        return reading if uid == uid_of(pod) else None

    def forget(self, key: Key) -> None:
        """Ask no more."""
        self._pods.pop(key, None)
        self._last.pop(key, None)

    async def run(self) -> None:
        """Ask every worker every other second while there is one, until cancelled."""
        while True:
            if not self._pods:
                self._wanted.clear()
            await self._wanted.wait()
            await self._clock.sleep(POLL_SECONDS)
            await asyncio.gather(*(self._ask(key) for key in list(self._pods)))

    async def _ask(self, key: Key) -> None:
        async with self._slots:
            if key not in self._pods:
                return
            uid, line = self._pods[key]
            try:
                reading = read(await _fetch(line))
            except _REFUSED as error:
                # It has not begun to listen, or has just ended: the pod's status tells what matters.
                log.debug("no progress of %s from %s: %s", key, line, error)
                return
        if self._pods.get(key) == (uid, line) and self._last.get(key) != (uid, reading):
            self._last[key] = uid, reading
            self._changed(key)


async def _fetch(line: Line) -> bytes:
    limits = aiohttp.ClientTimeout(total=POLL_SECONDS)
    with line.connector() as connector:
        async with (
            aiohttp.ClientSession(timeout=limits, connector=connector, trust_env=False) as session,
            session.get(f"http://{line.authority}/progress", allow_redirects=False) as response,
        ):
            if response.status != 200:
                raise ValueError(f"status {response.status}")
            body = b""
            while len(body) < _MOST_BYTES and (part := await response.content.read(_MOST_BYTES - len(body))):
                body += part
            return body
