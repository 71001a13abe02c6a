"""CustomResourceDefinitions: checked, established, served, and cleaned up after."""

import asyncio

from ingot.api import registry
from ingot.api.object import Object, name_of
from ingot.api.status import forbidden
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.deleter import CUSTOM_CLEANUP
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.definition import Definition
from ingot.standalone.schema import custom
from ingot.standalone.store.history import Change, Entry

KEY = "customresourcedefinitions.apiextensions.k8s.io"


class Customs(Worker[str]):
    """Serves every established definition from the commit that establishes it."""

    def __init__(self, world: World) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "kube-apiserver")
        # The generation of each definition that is served, to tell a new schema from a new status.
        self._generations: dict[str, int] = {}
        for entry in world.store.collection(KEY):
            self._serve(entry)
            self.queue.add(entry.name)

    def on_change(self, change: Change) -> None:
        if change.resource == KEY:
            if change.new:
                self._serve(change.new)
            else:
                self._withdraw(change.entry)
            self.queue.add(change.entry.name)
        elif change.new is None and change.resource in self._generations:
            self.queue.add(change.resource)

    def _serve(self, entry: Entry) -> None:
        crd = decode(entry.value)
        generation = crd["metadata"].get("generation", 1)
        if not _is_established(crd) or self._generations.get(entry.name) == generation:
            return
        self._world.catalog.install(custom.definition_of(crd), entry.revision)
        self._generations[entry.name] = generation

    def _withdraw(self, entry: Entry) -> None:
        spec = decode(entry.value)["spec"]
        self._world.catalog.remove(spec["group"], spec["names"]["plural"])
        self._generations.pop(entry.name, None)

    async def work(self, name: str) -> None:
        definition = self._world.catalog.known(KEY)
        crd = self._inside.read(definition, "", name)
        if crd is None:
            return
        if "deletionTimestamp" in crd["metadata"]:
            await self._clean_up(definition, crd)
        else:
            await self._establish(definition, name, crd)

    async def _establish(self, definition: Definition, name: str, crd: Object) -> None:
        others = [kind for kind in self._world.catalog if kind.key != name]
        status = custom.established(crd, others)
        if status != crd.get("status"):
            await self._inside.change(definition, "", name, lambda newest: {**newest, "status": status}, "status")

    async def _clean_up(self, definition: Definition, crd: Object) -> None:
        """Deletes all objects of the kind; lets the definition go once none is left."""
        name = name_of(crd)
        kind = self._world.catalog.of_key(name)
        await self._tell(definition, name, True, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
        if kind is not None and len(self.store.collection(name)):
            found = [entry for entry in self.store.collection(name) if "deletionTimestamp" not in _meta(entry)]
            await asyncio.gather(
                *(self._inside.delete(kind, entry.namespace, entry.name, Options()) for entry in found)
            )
            if len(self.store.collection(name)):
                return
        if _is_established(crd):
            await self._tell(definition, name, False, "InstanceDeletionCompleted", "removed all instances")
        else:
            await self._tell(definition, name, False, "NeverEstablished", "resource was never established")

    async def _tell(self, definition: Definition, name: str, still: bool, reason: str, message: str) -> None:
        """Writes down how far the clean-up is; once it is through, the definition may go."""

        def make(crd: Object) -> Object:
            meta = crd["metadata"]
            if not still:
                meta["finalizers"] = [held for held in meta.get("finalizers", ()) if held != CUSTOM_CLEANUP]
            return {**crd, "status": custom.terminating(crd, still, reason, message)}

        await self._inside.change(definition, "", name, make, "status")


def refuse_webhook(_: Call, new: Object, __: Object | None) -> None:
    """The guard of definitions: a webhook converts on a cluster; here only our own kinds have several shapes."""
    spec = new["spec"]
    foreign = registry.find(spec["group"], spec["names"]["kind"]) is None
    if foreign and len(spec["versions"]) > 1 and spec["conversion"]["strategy"] == "Webhook":
        raise forbidden(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            new["metadata"]["name"],
            "spec.conversion.strategy: Webhook works on a cluster only; on one machine use None, or a single version",
        )


def _meta(entry: Entry) -> Object:
    meta: Object = decode(entry.value)["metadata"]
    return meta


def _is_established(crd: Object) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(found["type"] == "Established" and found["status"] == "True" for found in conditions)
