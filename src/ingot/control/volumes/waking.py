"""What wakes the populator: which targets are to be looked at when something else has changed."""

from collections.abc import Iterable

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.control.volumes.filler import Means
from ingot.control.volumes.marks import target_of
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.controller import Controller

_BY_SOURCE, _BY_TARGET, _BY_CLASS, _BY_CLAIM = "volume-source", "prime-for", "unfilled-of-class", "claim-uid"


def reference_of(claim: Object) -> Object:
    """The dataSourceRef of a claim that is ours to fill, else {}."""
    found: Object = claim["spec"].get("dataSourceRef") or {}
    return found if found.get("apiGroup") == names.GROUP else {}


def _source_of(claim: Object) -> Iterable[str]:
    reference = reference_of(claim)
    return [f"{reference['kind']}/{namespace_of(claim)}/{reference['name']}"] if reference else []


def _prime_for(claim: Object) -> Iterable[str]:
    key = target_of(claim)
    return [str(key)] if key and name_of(claim).startswith(names.PRIME_PREFIX) else []


def _unfilled(claim: Object) -> Iterable[str]:
    is_open = reference_of(claim) and not claim["spec"].get("volumeName")
    return [claim["spec"].get("storageClassName") or ""] if is_open else []


def _claim_of(volume: Object) -> Iterable[str]:
    uid = (volume["spec"].get("claimRef") or {}).get("uid")
    return [uid] if uid else []


def primes_for(claims: Cache, key: Key) -> list[Object]:
    """The primes of all namespaces that say they are for that claim."""
    return claims.by_index(_BY_TARGET, str(key))


def volumes_of(volumes: Cache, uid: str) -> list[Object]:
    """The volumes that belong to the claim with that uid."""
    return volumes.by_index(_BY_CLAIM, uid)


class Waking:
    """Adds to the caches what it needs to find targets, and to a controller what it listens to."""

    def __init__(self, means: Means) -> None:
        self._means = means
        for name, indexer in ((_BY_SOURCE, _source_of), (_BY_TARGET, _prime_for), (_BY_CLASS, _unfilled)):
            means.claims.cache.add_index(name, indexer)
        means.volumes.cache.add_index(_BY_CLAIM, _claim_of)

    def watch(self, controller: Controller) -> None:
        """All but sources, which are for `of_source`, and events of claims, which are for `of_event`."""
        controller.watch(self._means.claims, self._of_claim).watch(self._means.pods, self._of_pod)
        # Read, not followed: no pod is made before they are full.
        controller.watch(self._means.configs, lambda _: ())
        controller.watch(self._means.volumes, self._of_volume).watch(self._means.classes, self._of_class)

    def _of_claim(self, claim: Object) -> list[Key]:
        """Targets themselves, and those of primes."""
        own = [key_of(claim)] if reference_of(claim) else []
        target = target_of(claim)
        return [*own, target] if target else own

    def _of_pod(self, pod: Object) -> list[Key]:
        """The worker's target; where it makes room at the gate, those whose turn it is now, and where it takes a place,
        those that are too many then."""
        target, gate = target_of(pod), self._means.gate
        is_counted = names.TRANSFER in (pod["metadata"].get("labels") or {})
        others = [*gate.heads(), *gate.surplus()] if is_counted else []
        return [target, *others] if target else others

    def _of_volume(self, volume: Object) -> list[Key]:
        holder = volume["spec"].get("claimRef") or {}
        claim = self._means.claims.cache.get(Key(holder.get("namespace", ""), holder.get("name", "")))
        return self._of_claim(claim) if claim else []

    def _of_class(self, storage_class: Object) -> list[Key]:
        return [key_of(claim) for claim in self._means.claims.cache.by_index(_BY_CLASS, name_of(storage_class))]

    def of_source(self, source: Object) -> list[Key]:
        where = f"{source['kind']}/{namespace_of(source)}/{name_of(source)}"
        return [key_of(claim) for claim in self._means.claims.cache.by_index(_BY_SOURCE, where)]

    def of_event(self, event: Object) -> list[Key]:
        """The target of a prime of which something was said."""
        named = event["involvedObject"]
        claim = self._means.claims.cache.get(Key(named.get("namespace", ""), named.get("name", "")))
        target = target_of(claim) if claim else None
        return [target] if target else []
