"""The primes of targets, with their workers: found, judged by what their targets name now, stopped, taken away."""

from collections.abc import Sequence
from dataclasses import replace

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import PODS, VOLUME_CLAIMS
from ingot.control.volumes import outcome, rebind, recipe, worker
from ingot.control.volumes.filler import Filler, Hindered, Means, Waiting
from ingot.control.volumes.marks import is_prime, phase_of
from ingot.control.volumes.prime import is_stale
from ingot.control.volumes.source import is_made_again
from ingot.control.volumes.waking import primes_for
from ingot.control.writing import change, delete
from ingot.kube.cache import Key, key_of
from ingot.kube.objects import is_deleting

# What a target tells of a worker while that is at work, and of what it has done.
_OF_WORKER = (names.POD_PHASE, names.POD_READY)
_OF_WORK = (
    *_OF_WORKER,
    names.POD_NAME,
    names.POD_RESTARTS,
    names.PROGRESS,
    names.CONTENT_TYPE,
    names.CLONE_TYPE,
    names.DELTA,
)


class Primes:
    """For the populator, which alone takes them away."""

    def __init__(self, means: Means, fillers: Sequence[Filler]) -> None:
        self._means = means
        self._fillers = fillers

    def of(self, target: Object, namespace: str) -> Object | None:
        found = self._means.claims.cache.get(Key(namespace, names.prime_name(target)))
        return found if found is not None and is_prime(found, target) else None

    async def check(self, prime: Object, target: Object, source: Object) -> None:
        """Raises Hindered for a prime that is of no use any more, once it has been told to go: it is lost, or its
        target is to be filled with something else by now. One of an older version tells from now on what it is of."""
        if not is_deleting(prime) and phase_of(prime) != "Lost" and recipe.fits(prime, source):
            if not recipe.is_noted(prime):
                await change(self._means.client, VOLUME_CLAIMS, prime, lambda obj: recipe.note(obj, source))
            return
        if await rebind.is_given(self._means.client, prime, target):
            raise Hindered(Waiting("RebindInProgress", "the volume is filled, and is being bound"))
        await self.remove(prime)
        if recipe.fits(prime, source):
            raise Hindered(Waiting("PrimeLost", f'claim "{name_of(prime)}" is lost: it is made anew, tried again'))
        self._means.gate.forget(key_of(target))
        message = (
            f'{source["kind"]} "{name_of(source)}" has changed since it was begun: what was done is thrown away, and '
            "it begins anew; tried again"
        )
        raise Hindered(Waiting("SourceChanged", message, notes=dict.fromkeys(_OF_WORK)))

    async def pause(self, prime: Object | None, pod: Object | None, target: Object, missing: Waiting) -> None:
        """Raises Hindered for a target whose source is gone, once its worker has been told to end: nobody knows what it
        is to be filled with, nor whether what is done will be of use. What the worker has done stays.

        Not for what a worker has completed, which is bound, nor for what is about to be made again as it was.
        """
        if pod is not None and (outcome.is_done(pod) or is_made_again(target)):
            return
        if pod is not None and not is_deleting(pod):
            await delete(self._means.client, PODS, pod)
        raise Hindered(missing if prime is None else replace(missing, notes=dict.fromkeys(_OF_WORKER)))

    async def sweep(self, key: Key, keep: str) -> None:
        """Take away the primes for claims of that key but those of the one with the uid `keep`."""
        for prime in primes_for(self._means.claims.cache, key):
            if is_stale(prime, keep):
                await self.remove(prime)

    async def sweep_elsewhere(self, key: Key, namespace: str) -> None:
        """The same for those that are in other namespaces than the one where the source is now."""
        for prime in primes_for(self._means.claims.cache, key):
            if namespace_of(prime) != namespace:
                await self.remove(prime)

    async def remove(self, prime: Object) -> None:
        """Delete a prime and its worker: that first, for a claim that is in use stays."""
        for filler in self._fillers:
            pod = worker.of_prime(self._means.pods.cache, prime, filler.prefix)
            if pod is not None and not is_deleting(pod):
                await delete(self._means.client, PODS, pod)
        if not is_deleting(prime):
            await delete(self._means.client, VOLUME_CLAIMS, prime)
