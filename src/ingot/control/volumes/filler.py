"""What fills claims: one filler for each kind of source, asked by the populator for its next step."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.control.outfit import Outfit
from ingot.control.volumes.gate import Gate
from ingot.control.volumes.wishes import Wishes, wishes_in
from ingot.kube.cache import Key
from ingot.kube.client import Client
from ingot.kube.clock import Clock
from ingot.kube.controller import Controller
from ingot.kube.events import Recorder
from ingot.kube.informer import Informer


@dataclass(frozen=True, slots=True)
class Means:
    """What fillers work with. The caches hold everything of the cluster but pods, of which they hold workers."""

    client: Client
    clock: Clock
    events: Recorder
    claims: Informer
    pods: Informer
    volumes: Informer
    classes: Informer
    gate: Gate
    outfit: Outfit
    configs: Informer

    @property
    def wishes(self) -> Wishes:
        """What is wished for all workers at this moment."""
        return wishes_in(self.configs.cache)


@dataclass(frozen=True, slots=True)
class Work:
    """One claim that is to be filled, as the caches have it. Nothing of it may be altered.

    `target` is neither bound nor being deleted, has not failed, and may be filled at this moment: of a class that waits
    for its first consumer, it has one or asks not to wait. `named` is what its dataSourceRef names, or what is said
    while that is gone: once `pod` has done its work, it may be. `prime` is the claim that is filled in its place, from
    that source, not being deleted and not lost, and `pod` the worker that the prime controls. Either is None where
    there is none, or the cache is late.
    """

    target: Object
    named: "Object | Waiting"
    prime: Object | None
    pod: Object | None

    @property
    def source(self) -> Object:
        """What is named. Raises Hindered where that is gone."""
        if isinstance(self.named, Waiting):
            raise Hindered(self.named)
        return self.named


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a transfer is, in bytes; `total` is 0 while unknown, `rate` is bytes per second. `refused`: none is under
    way, for what came last was refused, and why."""

    done: int
    total: int
    rate: int
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing moves: `reason` is one CamelCase word, `message` says for what and what happens next.

    It is asked again when the target, source, prime, pod or volume changes, and after `again` seconds if that is given.
    `queued` is for those who wait at the gate only. `notes` are annotations that the target gets, here as in others; it
    loses those that are None.
    """

    reason: str
    message: str
    again: float | None = None
    queued: bool = False
    notes: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Soon:
    """It is under way, and so quick that nobody is told: asked again by a change, and after `again` seconds."""

    again: float


@dataclass(frozen=True, slots=True)
class Running:
    """It is under way. Without a `reading`, the worker is asked how far it is (where it has an address)."""

    message: str = ""
    reading: Reading | None = None
    again: float | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filled:
    """`prime` is bound, and every byte in its volume is verified and on disk: the target may have that volume."""

    prime: Object
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot heal by itself: it is told on the target, and the prime and its worker go. Nothing is tried again."""

    reason: str
    message: str


# What is told of.
News: TypeAlias = Waiting | Running | Filled | Failed
Step: TypeAlias = News | Soon


def noted(step: Step, notes: Mapping[str, str]) -> Step:
    """The step, with annotations that the target gets."""
    return step if isinstance(step, Soon | Failed) else replace(step, notes=notes)


class Hindered(Exception):
    """Raised in the middle of a step that can go no further as things are: `step` says why, and when to look again."""

    def __init__(self, step: Waiting) -> None:
        super().__init__(step.message)
        self.step = step


@dataclass(frozen=True, slots=True)
class Words:
    """The reasons of the events about the target, as CDI has them, and the verb of their messages ("import")."""

    verb: str
    scheduled: str
    running: str
    succeeded: str
    failed: str


class Filler(Protocol):
    """Fills claims whose dataSourceRef names an object of one kind."""

    @property
    def resource(self) -> Resource:
        """The kind of source."""

    @property
    def words(self) -> Words:
        """How its events are named."""

    @property
    def prefix(self) -> str:
        """How the names of its worker pods begin; the name of the prime follows."""

    def namespace(self, target: Object, source: Object) -> str:
        """Where the prime is: with the target, unless the bytes can be reached from another namespace only."""

    def listen(self, controller: Controller) -> None:
        """Let the controller watch what else wakes a target, by the target's key. Most add nothing."""

    async def step(self, work: Work) -> Step:
        """Take the next idempotent step towards a filled prime, and say where things are.

        It makes the prime (`prime.ensure`) and the pod (`worker.ensure`) that are missing, asks the gate before it
        makes a pod that moves bytes, and judges the pod (`outcome.judge`). It never writes to the target: the populator
        tells there what the step says, gives it the volume of the prime after Filled, and deletes prime and pod when
        the target has a volume, has failed or is gone.

        It may be killed at any instruction and called again from the beginning. What it raises is logged, and it is
        asked again after a wait that doubles.
        """

    def notes(self, prime: Object | None) -> Mapping[str, str]:
        """Annotations of a target whose prime, if that is still there, was filled; those of its last step are kept."""

    async def sweep(self, key: Key, keep: str) -> None:
        """Remove what `step` made, beside primes and pods, for claims of that key but the one with the uid `keep`.

        `keep` is "" when nothing is to be filled there: the claim has its volume, has failed or is gone. It is called
        often, and asks caches only. What has an owner reference that does the same need not be found here.
        """
