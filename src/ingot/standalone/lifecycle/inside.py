"""Writes that the server makes of its own accord, through the same verbs as everybody's."""

from datetime import UTC, datetime

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError
from ingot.standalone import times
from ingot.standalone.access.user import MASTERS, User
from ingot.standalone.jsontext import encode
from ingot.standalone.objects import creator, deleter, intake, patcher, updater
from ingot.standalone.objects.body import Body
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.definition import Definition

NOT_FOUND = 404
ALREADY_EXISTS = 409


class Inside:
    """The world as one of the server's own parts sees it; `who` is its field manager."""

    def __init__(self, world: World, who: str) -> None:
        self.world = world
        self._who = who
        self._user = User(f"system:{who}", groups=(MASTERS,))

    def _call(self, definition: Definition, verb: str, namespace: str, name: str, subresource: str = "") -> Call:
        served = self.world.catalog.stored(definition)
        query = {"fieldManager": self._who}
        return Call(served, verb, namespace, name, subresource, self._user, query)

    def read(self, definition: Definition, namespace: str, name: str) -> Object | None:
        """The newest form of an object, durable or on its way."""
        entry = self.world.store.latest(definition.key, namespace, name)
        return self.world.catalog.stored(definition).read(entry) if entry else None

    async def create(self, definition: Definition, obj: Object) -> None:
        """Creates the object unless one of its name is there."""
        call = self._call(definition, "create", namespace_of(obj), name_of(obj))
        try:
            body = Body({"apiVersion": call.served.api_version, "kind": definition.kind, **obj})
            await creator.create(self.world, call, intake.take(call, body))
        except ApiError as error:
            if error.code != ALREADY_EXISTS:
                raise

    async def plant(self, definition: Definition, obj: Object, old: Object | None) -> None:
        """Stores an object that is known to be right, in place of `old` or as a new one, without any check."""
        intake.wipe(obj)
        intake.baptize(obj)
        meta = obj["metadata"]
        meta["creationTimestamp"] = times.written(datetime.now(UTC))
        meta["generation"] = 1
        if old is not None:
            for key in ("uid", "creationTimestamp"):
                meta[key] = old["metadata"][key]
            meta["generation"] = old["metadata"]["generation"] + 1
        await self.world.store.put(definition.key, namespace_of(obj), name_of(obj), intake.in_front(obj))

    async def change(
        self, definition: Definition, namespace: str, name: str, make: updater.Make, subresource: str = ""
    ) -> None:
        """Changes an object, if it is still there."""
        try:
            await updater.change(self.world, self._call(definition, "update", namespace, name, subresource), make)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise

    async def apply(self, definition: Definition, obj: Object) -> None:
        """Owns the fields of `obj`, whoever had them, and no others."""
        call = self._call(definition, "patch", namespace_of(obj), name_of(obj))
        call.query = {**call.query, "force": "true"}
        applied = {"apiVersion": call.served.api_version, "kind": definition.kind, **obj}
        await patcher.patch(self.world, call, patcher.APPLY, encode(applied))

    async def delete(self, definition: Definition, namespace: str, name: str, options: Options) -> None:
        """Deletes an object, if it is still there."""
        try:
            await deleter.delete(self.world, self._call(definition, "delete", namespace, name), options)
        except ApiError as error:
            if error.code != NOT_FOUND:
                raise
