"""Storage in use stays: a claim as long as pods on a node have it, a volume as long as it is bound to a claim."""

from typing import Any

from ingot.api.object import Object
from ingot.standalone.builtin.admission import PROTECTION
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.world import World
from ingot.standalone.store.history import Change, Entry

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
# (storage key, namespace, name)
Key = tuple[str, str, str]


class Protection(Worker[Key]):
    """Takes its finalizer off claims and volumes that are to go, as soon as nothing uses them."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "kube-controller-manager")
        for key in PROTECTION:
            for entry in world.store.collection(key):
                self._consider(key, entry)

    def on_change(self, change: Change) -> None:
        if change.resource in PROTECTION and change.new:
            self._consider(change.resource, change.new)
        elif change.resource == "pods" and change.new is None:
            namespace = change.entry.namespace
            for name in _claims(decode(change.entry.value)):
                self.queue.add((CLAIMS, namespace, name))

    def _consider(self, key: str, entry: Entry) -> None:
        if "deletionTimestamp" in decode(entry.value)["metadata"]:
            self.queue.add((key, entry.namespace, entry.name))

    async def work(self, key: Key) -> None:
        plural, namespace, name = key
        definition, finalizer = self._world.catalog.known(plural), PROTECTION[plural]
        obj = self._inside.read(definition, namespace, name)
        if obj is None or "deletionTimestamp" not in obj["metadata"]:
            return
        if finalizer not in (obj["metadata"].get("finalizers") or ()) or self._is_used(plural, obj):
            return

        def release(newest: Object) -> Object:
            held = newest["metadata"].get("finalizers") or ()
            newest["metadata"]["finalizers"] = [each for each in held if each != finalizer]
            return newest

        await self._inside.change(definition, namespace, name, release)

    def _is_used(self, plural: str, obj: Object) -> bool:
        meta: dict[str, Any] = obj["metadata"]
        if plural == VOLUMES:
            return bool(obj["status"].get("phase") == "Bound")
        pods = map(decode, (entry.value for entry in self.store.collection("pods").within(meta["namespace"])))
        return any(pod["spec"].get("nodeName") and meta["name"] in _claims(pod) for pod in pods)


def _claims(pod: Object) -> list[str]:
    """The claims that a pod has."""
    volumes = pod["spec"].get("volumes") or ()
    return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]
