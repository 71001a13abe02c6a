"""Namespaces: what each is born with, and how one is emptied before it goes."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

from ingot.api.object import Object
from ingot.standalone import times
from ingot.standalone.builtin.admission import ROOT_CA
from ingot.standalone.jsontext import decode
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.owners import meta_of
from ingot.standalone.lifecycle.remains import Remains
from ingot.standalone.lifecycle.worker import Worker
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.definition import Definition
from ingot.standalone.store.history import Change, Entry

FIRST = ("default", "kube-system", "kube-public", "kube-node-lease")


class Namespaces(Worker[str]):
    """Gives every namespace its service account and the CA; empties those that are to go, then lets them."""

    def __init__(self, world: World, authority_pem: bytes) -> None:
        super().__init__(world.store)
        self._world = world
        self._inside = Inside(world, "kube-controller-manager")
        self._authority = authority_pem.decode()
        for entry in world.store.collection("namespaces"):
            self.queue.add(entry.name)

    def on_change(self, change: Change) -> None:
        if change.resource == "namespaces":
            self.queue.add(change.entry.name)
            return
        if change.new is None and self._is_terminating(change.entry.namespace):
            self.queue.add(change.entry.namespace)
            return
        # Both are put back where somebody removes them.
        if change.new is None and (change.resource, change.entry.name) in (
            ("serviceaccounts", "default"),
            ("configmaps", ROOT_CA),
        ):
            self.queue.add(change.entry.namespace)

    def _is_terminating(self, name: str) -> bool:
        entry = self.store.get("namespaces", "", name) if name else None
        return entry is not None and "deletionTimestamp" in decode(entry.value)["metadata"]

    async def work(self, name: str) -> None:
        definition = self._world.catalog.known("namespaces")
        namespace = self._inside.read(definition, "", name)
        if namespace is None:
            return
        if "deletionTimestamp" in namespace["metadata"]:
            await self._empty(definition, name)
        else:
            await self._furnish(name)

    async def _furnish(self, name: str) -> None:
        account = {"metadata": {"name": "default", "namespace": name}}
        authority = {"metadata": {"name": ROOT_CA, "namespace": name}, "data": {"ca.crt": self._authority}}
        await self._inside.create(self._world.catalog.known("serviceaccounts"), account)
        await self._inside.create(self._world.catalog.known("configmaps"), authority)

    def _contents(self, name: str) -> Iterator[tuple[Definition, Entry]]:
        for kind in self._world.catalog:
            if kind.namespaced and not kind.ephemeral and not kind.storage_key:
                for entry in self.store.collection(kind.key).within(name):
                    yield kind, entry

    async def _empty(self, definition: Definition, name: str) -> None:
        """Deletes what is left in the namespace; lets it go once nothing is."""
        doomed = [
            self._inside.delete(kind, name, entry.name, Options(policy="Background"))
            for kind, entry in list(self._contents(name))
            if "deletionTimestamp" not in decode(entry.value)["metadata"]
        ]
        await asyncio.gather(*doomed)
        remains = self._remains(name)
        await self._tell(definition, name, remains)
        if remains.resources:
            return

        def release(obj: Object) -> Object:
            obj["spec"] = {**obj.get("spec", {}), "finalizers": []}
            return obj

        await self._inside.change(definition, "", name, release, "finalize")

    def _remains(self, name: str) -> Remains:
        remains = Remains()
        for kind, entry in self._contents(name):
            remains.add(kind.group, kind.plural, meta_of(entry).finalizers)
        return remains

    async def _tell(self, definition: Definition, name: str, remains: Remains) -> None:
        """Writes into the namespace's status what holds it back."""
        now = times.written(datetime.now(UTC))

        def make(obj: Object) -> Object:
            status = obj.get("status", {})
            obj["status"] = {**status, "conditions": remains.conditions(status.get("conditions", ()), now)}
            return obj

        await self._inside.change(definition, "", name, make, "status")
