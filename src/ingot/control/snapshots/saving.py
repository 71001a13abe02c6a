"""Full copies of disks that no VolumeSnapshot reaches: sizes are asked for, claims made, and a node fills them (F5).

An attempt that fails is cleared away, claims and all, and made again: what it would have held is a moment of its own.
"""

from dataclasses import dataclass, replace

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resource import Resource
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.api.snapshot.saving import (
    COPY,
    INSTANCE,
    MEASURE,
    NOW,
    SAVER,
    Saving,
    Stage,
    saved_volumes,
    saver_name,
)
from ingot.api.status import ApiError
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import REFUSED_SECONDS, is_owned, is_passing
from ingot.control.setbacks import Setbacks
from ingot.control.snapshots import saver
from ingot.control.snapshots.parts import Parts
from ingot.control.snapshots.saved_origins import Hindered, SavedOrigins
from ingot.control.snapshots.words import seconds_at
from ingot.control.volumes.marks import annotation, is_over
from ingot.control.writing import change, delete, live
from ingot.kube.cache import Key
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.manager import Manager
from ingot.kube.objects import condition, is_deleting

# How often what is being deleted is looked for.
_LEAVING_SECONDS = 1.0
# How often it is looked whether a pod that writes has ended: pods come and go without a change of their claims.
_BUSY_SECONDS = 5.0
# How long what failed stays to be seen before it is tried again.
PAUSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Step:
    """Where things are. `pod` is the saver that copies, `begun` says that it was told to; `again` is when to look."""

    stage: Stage
    message: str = ""
    pod: Object | None = None
    begun: bool = False
    saving: Saving | None = None
    again: float | None = None

    @property
    def is_held(self) -> bool:
        """Whether the moment has come, and nothing has failed since."""
        return self.begun and self.stage is not Stage.FAILED


class Savers:
    """Makes claims and pods, and follows what nodes say on these."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._clock = clock
        self._outfit = outfit
        self._parts = Parts(manager, clock)
        self._setbacks = Setbacks(manager)
        self._origins = SavedOrigins(manager, self._parts)
        self.claims = manager.informer(VOLUME_CLAIMS)
        self.instances = self._origins.instances
        self.pods = manager.informer(PODS, label_selector=SAVER)

    async def step(self, content: Object) -> Step:
        """Take the next step towards copies of one moment, and say where things are."""
        claims = {name: await self._claim(content, name) for name in saved_volumes(content).values()}
        try:
            if any(claim is not None and is_deleting(claim) for claim in claims.values()):
                # Also of an attempt that has not failed: who copies has them mounted, and would keep them for ever.
                await self.discard(content)
                raise Hindered("Waiting for claims that were deleted to be gone: all is copied anew", _LEAVING_SECONDS)
            role = COPY if all(claims.values()) else MEASURE
            pod = await self._pod(content, role)
            saving = Saving.of(pod)
            if fault := self._fault(content, pod, saving):
                return await self._fail(content, pod, fault)
            if saving is None:
                raise Hindered(self._why(content, pod))
            if saving.stage is Stage.MEASURED and not saved_volumes(content).keys() <= saving.sizes.keys():
                return await self._fail(content, pod, "the node did not measure every disk; asked again")
            if (
                saving.stage is Stage.DONE
                and not annotation(pod, INSTANCE)
                and (busy := await self._origins.busy(content))
            ):
                return await self._fail(content, pod, f"{busy} while it was copied")
            if role == COPY:
                await self._drop(content, MEASURE)
                begun = bool(annotation(pod, NOW))
                return Step(saving.stage, saving.message, pod, begun, saving)
            return await self._measured(content, saving, claims)
        except Hindered as hindered:
            return Step(Stage.WAITING, hindered.message, again=hindered.again)

    def is_idle(self, content: Object) -> bool:
        """Whether nothing is there for copies but what is being deleted."""
        names = [Key(namespace_of(content), saver_name(content, role)) for role in (MEASURE, COPY)]
        claims = [Key(namespace_of(content), name) for name in saved_volumes(content).values()]
        made = [*map(self.pods.cache.get, names), *map(self.claims.cache.get, claims)]
        return not any(each is not None and is_owned(each, content) and not is_deleting(each) for each in made)

    async def begin(self, step: Step) -> Step:
        """The moment has come."""
        assert step.pod is not None

        def tell(each: Object) -> None:
            each["metadata"].setdefault("annotations", {})[NOW] = "true"

        return replace(step, pod=await change(self._client, PODS, step.pod, tell), begun=True)

    async def discard(self, content: Object) -> None:
        """What there is of the copies is of no use any more: it goes, and the next step begins anew."""
        await self._drop(content, MEASURE)
        await self._drop(content, COPY)
        await self._drop_claims(content)

    async def finish(self, content: Object) -> list[str]:
        """The copies are complete: the pods go. Returns those of the claims that are gone."""
        await self._drop(content, MEASURE)
        await self._drop(content, COPY)
        names = saved_volumes(content).values()
        return [name for name in names if await self._claim(content, name) is None]

    async def _measured(self, content: Object, saving: Saving, claims: dict[str, Object | None]) -> Step:
        """Make the claims, once it is known how large they must be."""
        if saving.stage is not Stage.MEASURED:
            return Step(saving.stage, saving.message, saving=saving)
        storage_class = self._parts.default_class()
        if storage_class is None:
            raise Hindered("there is no default StorageClass for full copies: make one", REFUSED_SECONDS)
        for volume, name in saved_volumes(content).items():
            if claims[name] is None:
                await self._make(VOLUME_CLAIMS, saver.claim(content, name, saving.sizes[volume], storage_class))
        return Step(saving.stage, "The claims for full copies are made", saving=saving, again=0.0)

    async def _claim(self, content: Object, name: str) -> Object | None:
        cached = self.claims.cache.get(Key(namespace_of(content), name))
        found = cached or await live(self._client, VOLUME_CLAIMS, name, namespace_of(content))
        return found if found is not None and is_owned(found, content) else None

    async def _pod(self, content: Object, role: str) -> Object:
        """The pod in that role, made if it is not there. Raises Hindered."""
        key = Key(namespace_of(content), saver_name(content, role))
        found = self.pods.cache.get(key) or await live(self._client, PODS, key.name, key.namespace)
        if found is None:
            instance = self._origins.running(content)
            if instance is None and (busy := await self._origins.busy(content)):
                raise Hindered(f"{busy}: its disk is copied once that has ended", _BUSY_SECONDS)
            sources = {} if instance else self._origins.mounted(content)
            found = await self._make(PODS, saver.pod(content, role, instance, sources, self._outfit))
        if not is_owned(found, content) or is_deleting(found):
            raise Hindered(f'Waiting for pod "{key}", which is in the way, to be gone', _LEAVING_SECONDS)
        return found

    async def _make(self, resource: Resource, wanted: Object) -> Object:
        try:
            return await self._client.create(resource, wanted)
        except ApiError as error:
            shown = f'{resource.kind} "{name_of(wanted)}"'
            if error.reason == "AlreadyExists":
                raise Hindered(f"{shown} has just been made; looked at again", _LEAVING_SECONDS) from error
            if is_passing(error):
                raise
            message = f"{shown} was refused: {error.message}; tried again in {REFUSED_SECONDS:g} s"
            raise Hindered(message, REFUSED_SECONDS) from error

    def _why(self, content: Object, pod: Object) -> str:
        """What a pod of which no node says anything waits for."""
        for name in saved_volumes(content).values():
            claim = self.claims.cache.get(Key(namespace_of(content), name))
            if claim is not None and (why := self._setbacks.last(claim)) and not claim["spec"].get("volumeName"):
                return f'PersistentVolumeClaim "{name}": {why}'
        scheduled = condition(pod, "PodScheduled") or {}
        if scheduled.get("status") == "False":
            return f'pod "{name_of(pod)}" has no node yet: {scheduled.get("message", "")}'
        return f'Waiting for the node of pod "{name_of(pod)}" to look at the disks'

    def _fault(self, content: Object, pod: Object, saving: Saving | None) -> str:
        """Why the pod is of no use any more, "" while it is. Raises Hindered while that is not known."""
        stage = saving.stage if saving else Stage.WAITING
        if saving is not None and stage is Stage.FAILED:
            return saving.message
        if stage not in (Stage.MEASURED, Stage.DONE) and is_over(pod):
            why = (pod.get("status") or {}).get("message") or "see its events"
            return f'pod "{name_of(pod)}" has ended before the disks were copied: {why}; tried again'
        if stage not in (Stage.WAITING, Stage.READY):
            # Whatever has become of the machine since.
            return ""
        try:
            instance = self._origins.running(content)
        except Hindered as hindered:
            if annotation(pod, NOW):
                return hindered.message
            raise
        if annotation(pod, INSTANCE) != (uid_of(instance) if instance else ""):
            return "the machine was started or stopped meanwhile: its disks are copied anew"
        return ""

    async def _fail(self, content: Object, pod: Object, fault: str) -> Step:
        """What is left of the attempt goes after a while, in which it can be looked at."""
        saving = Saving.of(pod)
        since = seconds_at(saving.since) if saving and saving.since else 0.0
        left = since + PAUSE_SECONDS - self._clock.time()
        if left <= 0:
            await delete(self._client, PODS, pod)
            await self._drop_claims(content)
        return Step(Stage.FAILED, fault, again=max(left, _LEAVING_SECONDS))

    async def _drop_claims(self, content: Object) -> None:
        for name in saved_volumes(content).values():
            claim = await self._claim(content, name)
            if claim is not None and not is_deleting(claim):
                await delete(self._client, VOLUME_CLAIMS, claim)

    async def _drop(self, content: Object, role: str) -> None:
        pod = self.pods.cache.get(Key(namespace_of(content), saver_name(content, role)))
        if pod is not None and is_owned(pod, content) and not is_deleting(pod):
            await delete(self._client, PODS, pod)
