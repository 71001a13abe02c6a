"""Chunks on their way: each one once, however many wait for it, and what is asked for before what is guessed."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from ingot.images.chunk import Chunks
from ingot.images.fault import ImageFault
from ingot.images.lazy.flight import Flight, Lane, Patience
from ingot.images.lazy.memory import Memory
from ingot.images.lazy.table import ChunkTable
from ingot.images.zstd_chunked.remote import MOST_INFLATED

log = logging.getLogger(__name__)

CONNECTIONS = 10
# A reader waits this long for a registry that is away.
PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.5
# A request that hangs is left to its own end.
_CLOSE_SECONDS = 5.0


# How many requests of a lane may be under way, and how many bytes one may ask for. Demand comes with all it can get;
# the others are short, so that demand soon has the line for itself.
_REQUESTS = {Lane.DEMAND: CONNECTIONS, Lane.GUESS: 6, Lane.TRACE: 6, Lane.REST: 1}
_BYTES = {Lane.DEMAND: 1 << 20, Lane.GUESS: 128 << 10, Lane.TRACE: 512 << 10, Lane.REST: 512 << 10}


class Flights:
    """Fetches chunks with several connections. Any number of threads may ask.

    `arrived(number, lane, data)` is told of each chunk once, after those who wait to read it; `failed(number, lane)` of
    each that was given up.
    """

    def __init__(
        self,
        remote: Chunks,
        table: ChunkTable,
        memory: Memory,
        arrived: Callable[[int, Lane, bytes | memoryview], None],
        failed: Callable[[int, Lane], None],
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        self._remote = remote
        self._table = table
        self._memory = memory
        self._arrived = arrived
        self._failed = failed
        self._patience = Patience(patience)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._flights: dict[int, Flight] = {}
        self._queues: dict[Lane, OrderedDict[int, Flight]] = {lane: OrderedDict() for lane in Lane}
        self._under_way = dict.fromkeys(Lane, 0)
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self.closed = False

    def demand(self, numbers: Iterable[int]) -> list[Flight]:
        """Flights of these chunks, before all that nobody waits for."""
        with self._lock:
            return [self._demand(number) for number in numbers]

    def _demand(self, number: int) -> Flight:
        flight = self._flights.get(number)
        if flight is None:
            flight = Flight(number, Lane.DEMAND, self._patience)
            if (data := self._memory.get(number)) is not None:
                flight.data = data
                flight.landed.set()
                return flight
            flight.ask()
            self._enqueue(flight)
        else:
            flight.ask()
            queued = self._queues[flight.lane].pop(number, None)
            flight.lane = Lane.DEMAND
            if queued is not None:
                self._enqueue(flight)
        return flight

    def offer(self, numbers: Iterable[int], lane: Lane) -> list[Flight]:
        """Fetches these in their order when nothing better is to be done; those that are here or on their way already
        are left out. Their flights."""
        with self._lock:
            new = [number for number in numbers if number not in self._flights and number not in self._memory]
            flights = [Flight(number, lane, self._patience) for number in new]
            for flight in flights:
                self._enqueue(flight)
            return flights

    def busy(self, lane: Lane) -> bool:
        """Whether anything better than this lane waits or is under way."""
        with self._lock:
            return any(self._queues[other] or self._under_way[other] for other in Lane if other < lane)

    def close(self) -> None:
        """Those who wait get a fault. Requests under way may end by themselves; that is waited for once."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
            for queue in self._queues.values():
                queue.clear()
            for flight in list(self._flights.values()):
                self._give_up(flight, ImageFault("layer", "Closed", "the image was closed while it was read"))
            self._idle = 0
            self._changed.notify_all()
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0.0))

    def _enqueue(self, flight: Flight) -> None:
        if self.closed:
            flight.fault = ImageFault("layer", "Closed", "the image is closed")
            flight.landed.set()
            return
        if not self._wake() and len(self._threads) < CONNECTIONS:
            try:
                self._grow()
            except RuntimeError as error:
                # Those that there are come to it.
                if not self._threads:
                    why = f"its chunks cannot be fetched: {error}; let the process have more (ulimit -u, TasksMax)"
                    self._give_up(flight, ImageFault("layer", "NoThread", why, retry=True))
                    return
        self._flights[flight.number] = flight
        self._queues[flight.lane][flight.number] = flight

    def _grow(self) -> None:
        """One more thread. Raises RuntimeError when there is none to be had."""
        thread = threading.Thread(target=self._work, name="lazy", daemon=True)
        thread.start()
        self._threads.append(thread)

    def _wake(self) -> bool:
        """Wakes one thread that has nothing to do; whether there was one."""
        if not self._idle:
            return False
        # Counted by the one who wakes: until it runs, nobody else may take it for idle.
        self._idle -= 1
        self._changed.notify()
        return True

    def _work(self) -> None:
        while True:
            with self._lock:
                while (lane := self._next_lane()) is None:
                    if self.closed:
                        return
                    self._idle += 1
                    self._changed.wait()
                run = self._next_run(lane)
            self._fetch(run, lane)
            # Who waits for the next one must not hold the chunks of the last.
            del run

    def _next_lane(self) -> Lane | None:
        for lane, queue in self._queues.items():
            if queue and self._under_way[lane] < _REQUESTS[lane]:
                return lane
        return None

    def _next_run(self, lane: Lane) -> list[Flight]:
        """The chunks of one request: the oldest of the lane, and its neighbours in the lane."""
        self._under_way[lane] += 1
        queue = self._queues[lane]
        _, first = queue.popitem(last=False)
        if first.alone:
            first.turn = first.turn or time.monotonic()
            return [first]
        run = [first]
        weight, inflated = self._table.weight(first.number), self._table.size(first.number)
        for step in (1, -1):
            number = first.number + step
            while (flight := queue.get(number)) is not None and not flight.alone:
                weight += self._table.weight(number)
                inflated += self._table.size(number)
                if weight > _BYTES[lane] or inflated > MOST_INFLATED:
                    break
                del queue[number]
                run.append(flight)
                number += step
        run.sort(key=lambda flight: flight.number)
        return run

    def _fetch(self, run: list[Flight], lane: Lane) -> None:
        done = 0
        fault: ImageFault | None = None
        try:
            for data in self._remote.fetch([self._table[flight.number] for flight in run]):
                self._land(run[done], lane, data)
                done += 1
        except ImageFault as raised:
            fault = raised
        except Exception as error:
            # Whoever waits must not wait for ever, whatever is wrong.
            if not self.closed:
                log.exception("chunks cannot be fetched")
            fault = ImageFault("layer", "Failed", f"its chunks cannot be fetched: {error!r}")
        with self._lock:
            self._under_way[lane] -= 1
            for flight in run[done:] if not self.closed else []:
                self._failed_once(flight, fault or ImageFault("layer", "Lost", "a chunk did not come"))
            # Another of this lane may go now.
            self._wake()
        if fault is not None and fault.retry:
            time.sleep(_PAUSE_SECONDS)

    def _land(self, flight: Flight, lane: Lane, data: bytes | memoryview) -> None:
        with self._lock:
            self._memory.put(flight.number, data, read=flight.lane is Lane.DEMAND)
            self._flights.pop(flight.number, None)
            self._patience.given = time.monotonic()
        flight.data = data
        if flight.lane is Lane.REST:
            # Who hydrates waits for the cache as well.
            self._arrived(flight.number, lane, data)
            flight.landed.set()
        else:
            flight.landed.set()
            self._arrived(flight.number, lane, data)

    def _failed_once(self, flight: Flight, fault: ImageFault) -> None:
        """What was guessed is forgotten. What is waited for is tried again while there is hope."""
        flight.fault = fault
        hope = not flight.alone or (fault.retry and not flight.hopeless())
        if flight.lane is Lane.DEMAND and hope:
            flight.alone = True
            self._enqueue(flight)
        else:
            self._give_up(flight, fault)

    def _give_up(self, flight: Flight, fault: ImageFault) -> None:
        self._flights.pop(flight.number, None)
        flight.fault = fault
        flight.landed.set()
        self._failed(flight.number, flight.lane)
