"""At most so many transfers at once over the whole cluster: who comes first goes first."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ingot.api.cdi.names import COMPONENT, GROUP, QUEUED, TRANSFER
from ingot.api.object import Object, uid_of
from ingot.api.resources import DATA_VOLUMES, PODS, VOLUME_CLAIMS
from ingot.control.volumes.marks import annotation
from ingot.control.volumes.place import (
    begins_anew,
    filled_by,
    holds_place,
    is_running,
    looking,
    surplus,
)
from ingot.control.volumes.returns import Returns
from ingot.control.volumes.turns import Turns
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager

# How many worker pods move bytes at the same time. More of them share the same line and the same disk, and each takes
# memory; fewer leave the line idle while one of them waits.
TRANSFERS = 4

# How long who has not asked again keeps a place in the queue; all ask every ten seconds. What a claim says of itself
# counts no longer than that after this process began: anybody can write it there.
PATIENCE_SECONDS = 30.0
_INDEX = "queued"


def _queued(claim: Object) -> Iterable[str]:
    """Claims that we fill: the annotation on any other would keep everybody waiting, for nobody takes it away."""
    ours = (claim["spec"].get("dataSourceRef") or {}).get("apiGroup") == GROUP
    return [QUEUED] if ours and annotation(claim, QUEUED) and not claim["spec"].get("volumeName") else []


def _is_claim(key: Key) -> bool:
    return "/" not in key.name


@dataclass(frozen=True, slots=True)
class _Waiter:
    """`since` when the object is there, and when it `asked` last."""

    since: str
    asked: float


class Gate:
    """Counts worker pods with the label TRANSFER while they move bytes, or may begin to.

    Keys are those of targets, and `looking` ones of DataVolumes: an image that tells its size at its end is read whole.

    A transfer that was let in counts from that moment on, though its pod is not in the cache yet. Who waited when this
    process began is known by the claims' annotation QUEUED, so that a restart changes no order. Namespaces with fewer
    transfers go first: nobody waits for all of another's.

    A worker that waits to be started again has no place, and is started without being let in: whoever finds that it
    `is_surplus` then deletes it, and it waits behind those that wait already, lest what always fails keep them out. The
    same becomes of one that `has_had_its_turn`, lest four slow servers keep out all of the cluster. One that started so
    late that its place was given away may be surplus too, and waits where it did before: it has done nothing wrong.
    Late is whose pod was seen without a place here, whatever it says of when it started: of one that has started before
    a restart nobody knows that, and it goes on.
    """

    def __init__(
        self, claims: Cache, pods: Cache, volumes: Cache, clock: Clock = SYSTEM, limit: int = TRANSFERS
    ) -> None:
        self.limit = limit
        self._claims = claims
        self._volumes = volumes
        self._pods = pods
        self._clock = clock
        self._admitted: set[Key] = set()
        self._waiting: dict[Key, _Waiter] = {}
        self._returns = Returns(clock)
        self._began: float | None = None
        self._late: set[str] = set()
        self._failures: dict[Key, str] = {}
        self._turns = Turns(clock)
        self._wake: Callable[[Key], None] = lambda _: None
        claims.add_index(_INDEX, _queued)

    def admit(self, target: Object) -> int:
        """0 lets the transfer in: its pod is to be made now, or what that copies is under way, or `leave` to be called.
        Else its place in the queue."""
        return self._enter(key_of(target), _since(target))

    def admit_look(self, volume: Object) -> int:
        """The same for the pod that looks for the size of a DataVolume's image."""
        return self._enter(looking(key_of(volume)), _since(volume))

    def _enter(self, key: Key, since: str) -> int:
        busy = self._busy()
        if key in busy:
            return 0
        if self._returns.is_resting(key):
            return len(self._order(busy)) + 1
        self._waiting[key] = _Waiter(self._returns.since(key) or since, self._clock.monotonic())
        place = self._order(busy).index(key) + 1
        if place > self.limit - len(busy):
            for each in filter(_is_claim, self._overdue()):
                self._wake(each)
            return place
        del self._waiting[key]
        self._admitted.add(key)
        return 0

    def leave(self, key: Key) -> None:
        """Nobody waits under that key any more, and a transfer that has no pod yet gets none."""
        self._waiting.pop(key, None)
        self._admitted.discard(key)
        self._turns.end(key)

    def forget(self, key: Key) -> None:
        """The transfer is over."""
        self.leave(key)
        self._returns.forget(key)
        self._failures.pop(key, None)

    def listen(self, wake: Callable[[Key], None]) -> None:
        """Have those called whose turn it is when a pod gives way: no pod changes by that."""
        self._wake = wake

    def give_way(self, pod: Object) -> None:
        """The pod cannot start as things are: until it runs, its place is another's."""
        if uid_of(pod) not in self._late:
            self._late.add(uid_of(pod))
            for key in self.heads():
                self._wake(key)

    def note_failure(self, key: Key, why: str) -> None:
        """What has gone wrong with a transfer whose pod goes, for those who ask why it waits again."""
        self._failures[key] = why

    def failure(self, key: Key) -> str:
        """What went wrong with a transfer before; "" where nothing did."""
        return self._failures.get(key, "")

    def note_progress(self, key: Key, pod: Object, done: int) -> None:
        """How many bytes the transfer's pod has moved."""
        self._turns.note(key, uid_of(pod), done)

    def send_back(self, key: Key) -> None:
        """The worker of that key, which failed, is deleted, and its transfer waits from now on."""
        self._turns.end(key)
        self._returns.add_failure(key)

    def end_turn(self, key: Key) -> None:
        """The same for one that has had its turn: a place that nobody else wants by then is its own again."""
        self._turns.end(key)
        self._returns.add_turn(key)

    def put_back(self, key: Key) -> None:
        """The same for one that was late, which waits where it did before."""
        self._turns.end(key)
        self._returns.add_late(key)

    def heads(self) -> list[Key]:
        """The targets whose turn it is."""
        busy = self._busy()
        return [key for key in self._order(busy)[: max(self.limit - len(busy), 0)] if _is_claim(key)]

    def is_surplus(self, key: Key) -> bool:
        """Whether the worker of that key was started though all places are others'."""
        return key in self._surplus()

    def surplus(self) -> list[Key]:
        """The targets whose workers are surplus."""
        return [key for key in self._surplus() if _is_claim(key)]

    def _surplus(self) -> set[Key]:
        busy, workers = self._busy(), self._workers()
        late = {key for key, pod in workers.items() if uid_of(pod) in self._late}
        return surplus(workers, busy, late, self.limit)

    def has_had_its_turn(self, key: Key) -> bool:
        """Whether the worker of that key is to give its place to one that waits."""
        return key in self._overdue()

    def _overdue(self) -> list[Key]:
        busy = self._busy()
        leaving = {key for key in busy if self._returns.is_resting(key)}
        waiting = self._order(busy)
        wanted = len(waiting) - max(self.limit - len(busy), 0) - len(leaving)
        times = {key: self._returns.turns(key) for key in busy - leaving}
        anew = {key for key, pod in self._workers().items() if begins_anew(pod)}
        return self._turns.over(times, anew, waiting, self.limit)[: max(wanted, 0)]

    def _order(self, busy: set[Key]) -> list[Key]:
        now = self._clock.monotonic()
        since = {key: each.since for key, each in self._waiting.items() if now - each.asked < PATIENCE_SECONDS}
        since = self._told(now) | since
        since = {key: when for key, when in since.items() if key not in busy and not self._returns.is_resting(key)}
        running = Counter(key.namespace for key in busy)
        return sorted(since, key=lambda key: (running[key.namespace], since[key], key))

    def _told(self, now: float) -> dict[Key, str]:
        """Who says that it waited before."""
        self._began = now if self._began is None else self._began
        if now - self._began >= PATIENCE_SECONDS:
            return {}
        return {key_of(claim): _since(claim) for claim in self._claims.by_index(_INDEX, QUEUED)}

    def _busy(self) -> set[Key]:
        workers = self._workers()
        self._admitted -= workers.keys()
        self._late &= {uid_of(pod) for pod in workers.values()}
        kept = {key for key, pod in workers.items() if holds_place(pod, self._clock, self._returns.patience(key))}
        self._late |= {uid_of(pod) for key, pod in workers.items() if key not in kept}
        has_place = {key for key in kept if is_running(workers[key]) or uid_of(workers[key]) not in self._late}
        return self._admitted | has_place

    def _workers(self) -> dict[Key, Object]:
        labelled = (pod for pod in self._pods.list() if TRANSFER in (pod["metadata"].get("labels") or {}))
        return {key: pod for pod in labelled if (key := filled_by(pod, self._claims, self._volumes))}


def _since(obj: Object) -> str:
    return str(obj["metadata"].get("creationTimestamp", ""))


_gates: WeakKeyDictionary[Manager, Gate] = WeakKeyDictionary()


def gate_of(manager: Manager, clock: Clock = SYSTEM) -> Gate:
    """The gate of all that the manager's controllers begin: always the same, to be asked for before it runs."""
    if manager not in _gates:
        claims, volumes = manager.informer(VOLUME_CLAIMS), manager.informer(DATA_VOLUMES)
        pods = manager.informer(PODS, label_selector=COMPONENT)
        _gates[manager] = Gate(claims.cache, pods.cache, volumes.cache, clock)
    return _gates[manager]
