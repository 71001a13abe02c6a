"""What claims name in their dataSourceRef: looked up, and told of where it is not there."""

from collections.abc import Mapping

from ingot.api.object import Object, namespace_of
from ingot.api.resource import Resource
from ingot.control.volumes.filler import Means, Soon, Waiting
from ingot.control.volumes.marks import created
from ingot.control.volumes.waking import reference_of
from ingot.control.writing import live
from ingot.kube.cache import Key
from ingot.kube.informer import Informer

# A source and the claim that names it are made at the same time, one of them first.
_PAIR_SECONDS = 2.0


class References:
    """`sources` are the informers of all kinds of sources, by kind."""

    def __init__(self, means: Means, sources: Mapping[str, Informer]) -> None:
        self._means = means
        self._sources = sources

    async def named(self, target: Object, resource: Resource) -> Object | Waiting | Soon:
        """The source that the target names; what is said where it is not there; Soon while it may just be made."""
        reference = reference_of(target)
        shown = f'{resource.kind} "{reference["name"]}"'
        if reference.get("namespace") not in (None, "", namespace_of(target)):
            where = "the claim's own namespace: make the claim anew"
            message = f"spec.dataSourceRef.namespace: {shown} must be in {where}; tried again"
            return Waiting("SourceNotFound", message)
        key = Key(namespace_of(target), reference["name"])
        source = self._sources[resource.kind].cache.get(key)
        if source is None:
            # Both are often made at the same time, and one cache hears of it before the other.
            source = await live(self._means.client, resource, key.name, key.namespace)
        if source is not None:
            return source
        if 0 <= self._means.clock.time() - created(target) < _PAIR_SECONDS:
            return Soon(_PAIR_SECONDS)
        message = f"spec.dataSourceRef: {shown} is not there; the claim is filled once it is; tried again"
        return Waiting("SourceNotFound", message)
