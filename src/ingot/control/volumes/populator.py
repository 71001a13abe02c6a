"""Claims that name a source of ours: filled behind the curtain, in a prime, and bound when every byte is there (G1)."""

from collections.abc import Sequence
from dataclasses import replace

from ingot.api.cdi import names
from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.resources import PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.reach import Reach
from ingot.control.setbacks import Setbacks
from ingot.control.volumes import readiness, rebind, telling, worker
from ingot.control.volumes.care import Care
from ingot.control.volumes.clones import Clones
from ingot.control.volumes.filler import (
    Failed,
    Filled,
    Filler,
    Hindered,
    Means,
    Reading,
    Running,
    Soon,
    Step,
    Waiting,
    Work,
)
from ingot.control.volumes.gate import gate_of
from ingot.control.volumes.importing import Imports
from ingot.control.volumes.marks import annotation, is_bound, is_open, is_prime, is_settled, phase_of
from ingot.control.volumes.outcome import final_reading
from ingot.control.volumes.primes import Primes
from ingot.control.volumes.progress import Readings
from ingot.control.volumes.references import References
from ingot.control.volumes.uploading import Uploads
from ingot.control.volumes.waking import Waking, primes_for, reference_of, volumes_of
from ingot.control.volumes.wishes import configs_of
from ingot.control.volumes.writers import Writers
from ingot.kube.cache import Key, key_of
from ingot.kube.clock import SYSTEM, Clock
from ingot.kube.controller import Controller, Result
from ingot.kube.events import Recorder
from ingot.kube.manager import Manager
from ingot.kube.objects import is_deleting


class Populators:
    """The controller, keyed by the target. It alone writes to targets, rebinds, and deletes primes and their pods."""

    def __init__(self, manager: Manager, clock: Clock = SYSTEM, outfit: Outfit = OF_ONE_MACHINE) -> None:
        self._client = manager.client
        self._means = means = _means(manager, clock, outfit)
        self._care = Care(means.client, clock, means.gate)
        self._setbacks = Setbacks(manager)
        self._writers = Writers(manager)
        self._fillers: Sequence[Filler] = (Imports(means, manager), Uploads(means, manager), Clones(means, manager))
        sources = {filler.resource.kind: manager.informer(filler.resource) for filler in self._fillers}
        self._references = References(means, sources)
        self._primes = Primes(means, self._fillers)
        controller = Controller("populator", self.reconcile, workers=8, clock=clock)
        self._readings = Readings(controller.queue.add, clock, reach=Reach(outfit.kubelet))
        means.gate.listen(controller.queue.add)
        waking = Waking(means)
        waking.watch(controller)
        controller.watch(self._setbacks.events, waking.of_event)
        for filler in self._fillers:
            controller.watch(sources[filler.resource.kind], waking.of_source)
            filler.listen(controller)
        manager.serve(means.events.run)
        manager.serve(self._readings.run)
        manager.add(controller)

    async def reconcile(self, key: Key) -> Result | None:
        target = self._means.claims.cache.get(key)
        filler = self._filler(target) if target else None
        if target is not None and filler is not None and is_open(target):
            await self._sweep(key, uid_of(target))
            return await self._fill(key, target, filler)
        if target is not None and filler is not None and is_settled(target):
            await self._tell(target, filler, await self._outcome(target, filler))
        self._forget(key)
        await self._sweep(key, uid_of(target) if target is not None and _keeps_prime(target) else "")
        return None

    async def _outcome(self, target: Object, filler: Filler) -> telling.Told:
        """What a claim tells that has a volume. One that was restored from a backup tells of before."""
        if annotation(target, names.POD_PHASE) == "Succeeded" or await rebind.is_filled(self._client, target):
            primes = primes_for(self._means.claims.cache, key_of(target))
            return telling.completed(filler.notes(next((each for each in primes if is_prime(each, target)), None)))
        volume = target["spec"]["volumeName"]
        message = (
            f'the claim was bound to volume "{volume}", which was not filled for it: delete the claim, keep volumes of '
            "its StorageClass from suiting it, and make it anew, final"
        )
        return telling.told(Failed(names.FOREIGN_VOLUME, message), None, None)

    def _filler(self, target: Object) -> Filler | None:
        kind = reference_of(target).get("kind")
        return next((filler for filler in self._fillers if filler.resource.kind == kind), None)

    def _forget(self, key: Key) -> None:
        self._readings.forget(key)
        self._means.gate.forget(key)

    async def _fill(self, key: Key, target: Object, filler: Filler) -> Result | None:
        if volumes_of(self._means.volumes.cache, uid_of(target)):
            # It has been given its volume: whoever binds claims here does the rest.
            self._forget(key)
            return None
        pod: Object | None = None
        try:
            step, pod = await self._step(target, filler)
            if isinstance(step, Filled):
                await rebind.rebind(self._client, self._writers, step.prime, target, pod)
        except Hindered as hindered:
            step = hindered.step
            self._means.gate.leave(key)
        except Exception:
            # What it was let in for has not begun, as far as anybody knows; a pod that is there counts by itself.
            self._means.gate.leave(key)
            raise
        if isinstance(step, Soon):
            return Result(step.again)
        # Of what was quick it is told when it is bound: a write now would be in the way of that.
        if not isinstance(step, Filled) or annotation(target, names.RUNNING):
            await self._tell(target, filler, telling.told(step, pod, self._reading(key, step, pod)))
        if isinstance(step, Failed):
            self._forget(key)
            await self._sweep(key, "")
        again = step.again if isinstance(step, Waiting | Running) else None
        return Result(again) if again is not None else None

    async def _step(self, target: Object, filler: Filler) -> tuple[Step, Object | None]:
        """The next step of the filler, and the worker as it was before. Raises Hindered where there is none to take."""
        named = await self._references.named(target, filler.resource)
        if isinstance(named, Soon):
            return named, None
        prime = await self._prime(target, filler, named)
        pod = worker.of_prime(self._means.pods.cache, prime, filler.prefix) if prime else None
        if isinstance(named, Waiting):
            await self._primes.pause(prime, pod, target, named)
        if prime is None:
            readiness.check(target, self._means.classes.cache)
        step = await filler.step(Work(target, named, prime, pod))
        if pod is not None and isinstance(step, Running):
            return await self._care.sent_back(key_of(target), pod) or step, pod
        if prime is not None and pod is not None and isinstance(step, Waiting):
            step = await self._care.look_after(pod, self._explained(prime, pod, step))
        return step, pod

    async def _prime(self, target: Object, filler: Filler, named: Object | Waiting) -> Object | None:
        """The prime that is filled with what is named. Raises Hindered for one that is of no use any more."""
        if isinstance(named, Waiting):
            return self._primes.of(target, namespace_of(target))
        namespace = filler.namespace(target, named)
        await self._primes.sweep_elsewhere(key_of(target), namespace)
        prime = self._primes.of(target, namespace)
        if prime is not None:
            await self._primes.check(prime, target, named)
        return prime

    def _explained(self, prime: Object, pod: Object, step: Waiting) -> Waiting:
        """The step, with what the provisioner says of a prime that has no volume: its pod cannot tell."""
        is_waiting = phase_of(pod) in ("", "Pending") and not prime["spec"].get("volumeName")
        if not is_waiting or not (why := self._setbacks.last(prime)):
            return step
        # Until there is a volume the pod cannot start: its place is another's.
        self._means.gate.give_way(pod)
        told = why if "tried again" in why else f"{why}; tried again"
        return replace(step, reason="ProvisioningFailed", message=told)

    def _reading(self, key: Key, step: Step, pod: Object | None) -> Reading | None:
        if isinstance(step, Running):
            return step.reading or (self._asked(key, pod) if pod else None)
        self._readings.forget(key)
        return final_reading(pod) if pod is not None and isinstance(step, Filled) else None

    def _asked(self, key: Key, pod: Object) -> Reading | None:
        reading = self._readings.of(key, pod)
        if reading is not None:
            self._means.gate.note_progress(key, pod, reading.done)
        return reading

    async def _tell(self, target: Object, filler: Filler, wanted: telling.Told) -> None:
        if await telling.tell(self._client, target, wanted):
            telling.record(self._means.events, filler.words, target, wanted)

    async def _sweep(self, key: Key, keep: str) -> None:
        """Delete what was made for claims of that key but the one with the uid `keep`."""
        await self._primes.sweep(key, keep)
        for filler in self._fillers:
            await filler.sweep(key, keep)


def _means(manager: Manager, clock: Clock, outfit: Outfit) -> Means:
    claims, pods = manager.informer(VOLUME_CLAIMS), manager.informer(PODS, label_selector=names.COMPONENT)
    return Means(
        client=manager.client,
        clock=clock,
        events=Recorder(manager.client, "ingot-populator"),
        claims=claims,
        pods=pods,
        volumes=manager.informer(VOLUMES),
        classes=manager.informer(STORAGE_CLASSES),
        gate=gate_of(manager, clock),
        outfit=outfit,
        configs=configs_of(manager),
    )


def _keeps_prime(target: Object) -> bool:
    """Whether prime and pod stay, though there is nothing to fill: it is just being bound, or they are to be kept."""
    if is_deleting(target) or annotation(target, names.FAILURE):
        return False
    return not is_bound(target) or annotation(target, names.RETAIN_POD) == "true"
