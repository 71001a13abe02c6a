"""Events: what happened to an object, for people. Repeats are counted, floods are bounded, nothing ever waits."""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client, Patch
from ingot.kube.clock import SYSTEM, Clock, timestamp
from ingot.kube.limits import TokenBucket, jitter
from ingot.kube.transport import ConnectionFailed

log = logging.getLogger(__name__)

EVENTS = Resource("", "v1", "events", "Event")

# client-go's numbers, so that our events behave as those of every other component.
REMEMBERED = 4096
SIMILAR = 10
SIMILAR_SECONDS = 600.0
SPAM_BURST = 25
SPAM_RATE = 1 / 300
TRIES = 12
RETRY_SECONDS = 10.0

# Time enough for what an event tells of, which often is one of several steps.
LATE_SECONDS = 0.1

MESSAGE_LENGTH = 1024
NAME_LENGTH = 253
WAITING = 1000

K = TypeVar("K")
V = TypeVar("V")


class _Recent(OrderedDict[K, V]):
    """A dictionary of the `REMEMBERED` entries that were used last."""

    def touch(self, key: K, fresh: V) -> V:
        value = self.setdefault(key, fresh)
        self.move_to_end(key)
        if len(self) > REMEMBERED:
            self.popitem(last=False)
        return value


class _About(NamedTuple):
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    type: str


@dataclass(slots=True)
class _Similar:
    messages: set[str]
    last: float


@dataclass(slots=True)
class _Occurrence:
    name: str
    first: float
    last: float = 0.0
    count: int = 0
    message: str = ""
    created: bool = False


class Recorder:
    """Writes core/v1 Events as `component`. `record` never blocks and never raises; `run` does the writing.

    The same event again raises the first one's count. From the tenth different message of one reason within ten
    minutes on, they share one event. One object gets 25 writes, then one in five minutes; while more than a
    thousand events wait, new ones are dropped. `dropped` counts what was not written.
    """

    def __init__(
        self, client: Client, component: str, *, host: str = "", clock: Clock = SYSTEM, late: float = LATE_SECONDS
    ) -> None:
        """`late` is how many seconds after it happened an event is written, at the earliest."""
        self.dropped = 0
        self._client = client
        self._source = {"component": component, **({"host": host} if host else {})}
        self._clock = clock
        self._late = late
        self._buckets: _Recent[_About, TokenBucket] = _Recent()
        self._similar: _Recent[tuple[_About, str], _Similar] = _Recent()
        self._known: _Recent[tuple[_About, str, str], _Occurrence] = _Recent()
        self._waiting: OrderedDict[tuple[_About, str, str], _Occurrence] = OrderedDict()
        self._wake = asyncio.Event()
        self._stamp = 0

    def record(self, obj: Object, reason: str, message: str, kind: Literal["Normal", "Warning"] = "Normal") -> None:
        """Say that `reason` (one CamelCase word) happened to `obj`."""
        about = _About(
            obj.get("apiVersion", ""), obj.get("kind", ""), namespace_of(obj), name_of(obj), uid_of(obj), kind
        )
        now = self._clock.time()
        combined, message = self._combine(about, reason, message[:MESSAGE_LENGTH], now)
        key = (about, reason, "" if combined else message)
        occurrence = self._known.touch(key, _Occurrence(self._name(about.name, now), first=now))
        occurrence.count += 1
        occurrence.last, occurrence.message = now, message
        bucket = self._buckets.touch(about, TokenBucket(SPAM_RATE, SPAM_BURST, self._clock))
        if not bucket.take() or (len(self._waiting) >= WAITING and key not in self._waiting):
            self.dropped += 1
            return
        self._waiting[key] = occurrence
        self._wake.set()

    def _combine(self, about: _About, reason: str, message: str, now: float) -> tuple[bool, str]:
        similar = self._similar.touch((about, reason), _Similar(set(), now))
        if now - similar.last > SIMILAR_SECONDS:
            similar.messages.clear()
        similar.last = now
        if message in similar.messages or len(similar.messages) < SIMILAR - 1:
            similar.messages.add(message)
            return False, message
        return True, f"(combined from similar events): {message}"

    def _name(self, name: str, now: float) -> str:
        """`name.<hex of nanoseconds>`, no longer than a name may be, and new even within one tick of the clock."""
        self._stamp = max(self._stamp + 1, int(now * 1e9))
        suffix = f".{self._stamp:x}"
        return name[: NAME_LENGTH - len(suffix)].rstrip("-.") + suffix

    async def run(self) -> None:
        """Write what was recorded, until cancelled."""
        while True:
            await self._wake.wait()
            # What they tell of goes first: whoever waits for that must not wait for the telling.
            await asyncio.sleep(self._late)
            while self._waiting:
                (about, reason, _), occurrence = self._waiting.popitem(last=False)
                await self._write(about, reason, occurrence)
            self._wake.clear()

    async def _write(self, about: _About, reason: str, occurrence: _Occurrence) -> None:
        for attempt in range(1, TRIES + 1):
            try:
                await self._send(about, reason, occurrence)
                return
            except ApiError as error:
                # Namespaces that end refuse events, and nobody would read them.
                log.info("event %s for %s %s refused: %s", reason, about.kind, about.name, error)
                break
            except ConnectionFailed as error:
                log.info("event %s for %s %s, try %d: %s", reason, about.kind, about.name, attempt, error)
                await self._clock.sleep(jitter(RETRY_SECONDS))
        self.dropped += 1

    async def _send(self, about: _About, reason: str, occurrence: _Occurrence) -> None:
        namespace = about.namespace or "default"
        change = {
            "count": occurrence.count,
            "lastTimestamp": timestamp(occurrence.last),
            "message": occurrence.message,
        }
        if occurrence.created:
            try:
                await self._client.patch(EVENTS, occurrence.name, change, namespace, kind=Patch.STRATEGIC)
                return
            except ApiError as error:
                # Servers forget events after an hour.
                if error.code != 404:
                    raise
        await self._client.create(
            EVENTS,
            {
                "metadata": {"name": occurrence.name, "namespace": namespace},
                "involvedObject": _reference(about),
                "type": about.type,
                "reason": reason,
                "firstTimestamp": timestamp(occurrence.first),
                "source": self._source,
                "reportingComponent": self._source["component"],
                "reportingInstance": self._source.get("host", ""),
                **change,
            },
        )
        occurrence.created = True


def _reference(about: _About) -> Object:
    reference = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
    }
    return {key: value for key, value in reference.items() if value}
