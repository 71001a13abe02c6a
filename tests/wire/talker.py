"""One set of verbs for all who talk to an API server, so that a case is written once.

A case speaks through a `Conversation`, which writes down what it asks and what it is told.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Literal, Protocol, TypedDict, TypeVar, Unpack

import pytest

from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from wire.transcript import Transcript

T = TypeVar("T")
PatchKind = Literal["json", "merge", "strategic"]
Event = tuple[str, Object]
SECONDS = 30.0
PAUSE = 0.02


class Selection(TypedDict, total=False):
    labels: str
    fields: str


class Writing(TypedDict, total=False):
    subresource: str
    manager: str
    dry_run: bool


class Deletion(TypedDict, total=False):
    cascade: Literal["background", "foreground", "orphan"]
    grace: int
    dry_run: bool


class Refused(Exception):
    """The server said no: `complaints` are the faults of fields where it named fields, else its one message.

    Of each the first line: what follows there is a comparison of Go values, which Go words anew with every build.
    """

    def __init__(self, reason: str, *complaints: str) -> None:
        super().__init__(f"{reason}: {'; '.join(complaints)}")
        self.reason = reason
        self.complaints = tuple(sorted(complaint.partition("\n")[0] for complaint in complaints))

    def told(self) -> Object:
        """The form in which a refusal is written down."""
        return {"refused": self.reason, "complaints": builtins.list(self.complaints)}


class Talker(Protocol):
    """Verbs on the objects of one namespace, or of none. Each raises Refused where the server refuses.

    Nobody validates fields more strictly than the server does by itself, and all write as the manager `wire`.
    """

    async def create(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object: ...

    async def get(self, resource: Resource, name: str, subresource: str = "") -> Object: ...

    async def list(self, resource: Resource, **selection: Unpack[Selection]) -> builtins.list[Object]: ...

    async def replace(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object: ...

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Object | builtins.list[Object],
        kind: PatchKind = "merge",
        **options: Unpack[Writing],
    ) -> Object: ...

    async def apply(
        self, resource: Resource, obj: Object, force: bool = False, **options: Unpack[Writing]
    ) -> Object: ...

    async def delete(self, resource: Resource, name: str, **options: Unpack[Deletion]) -> None: ...

    async def scale(self, resource: Resource, name: str, replicas: int) -> None: ...

    def watch(
        self, resource: Resource, **selection: Unpack[Selection]
    ) -> AbstractAsyncContextManager[AsyncIterator[Event]]: ...


class Conversation:
    """The verbs of a talker, written down."""

    def __init__(self, talker: Talker, namespace: str, transcript: Transcript) -> None:
        self.talker = talker
        self.namespace = namespace
        self._transcript = transcript

    async def create(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        return await self._tell(f"create {resource.qualified}", self.talker.create(resource, obj, **options))

    async def get(self, resource: Resource, name: str, subresource: str = "") -> Object:
        return await self._tell(
            f"get {resource.qualified} {name} {subresource}", self.talker.get(resource, name, subresource)
        )

    async def list(self, resource: Resource, **selection: Unpack[Selection]) -> builtins.list[Object]:
        chosen = " ".join(str(value) for value in selection.values())
        return await self._tell(f"list {resource.qualified} {chosen}", self.talker.list(resource, **selection))

    async def names(self, resource: Resource, **selection: Unpack[Selection]) -> builtins.list[str]:
        """The names of those that a list has."""
        return [name_of(item) for item in await self.list(resource, **selection)]

    async def replace(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        what = f"replace {resource.qualified} {name_of(obj)} {options.get('subresource', '')}"
        return await self._tell(what, self.talker.replace(resource, obj, **options))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Object | builtins.list[Object],
        kind: PatchKind = "merge",
        **options: Unpack[Writing],
    ) -> Object:
        what = f"patch {kind} {resource.qualified} {name} {options.get('subresource', '')}"
        return await self._tell(what, self.talker.patch(resource, name, patch, kind, **options))

    async def apply(self, resource: Resource, obj: Object, force: bool = False, **options: Unpack[Writing]) -> Object:
        what = f"apply {resource.qualified} {name_of(obj)} {options.get('manager', '')}"
        return await self._tell(what, self.talker.apply(resource, obj, force, **options))

    async def delete(self, resource: Resource, name: str, **options: Unpack[Deletion]) -> None:
        what = f"delete {resource.qualified} {name} {options.get('cascade', '')}"
        await self._tell(what, self.talker.delete(resource, name, **options))

    async def scale(self, resource: Resource, name: str, replicas: int) -> None:
        what = f"scale {resource.qualified} {name} to {replicas}"
        await self._tell(what, self.talker.scale(resource, name, replicas))

    async def until(self, resource: Resource, name: str, holds: Callable[[Object], bool]) -> Object:
        """The object as soon as something holds of it; how often it was asked for is not written down."""
        async with asyncio.timeout(SECONDS):
            found = await self.talker.get(resource, name)
            while not holds(found):
                await asyncio.sleep(PAUSE)
                found = await self.talker.get(resource, name)
        self._transcript.add(f"wait {resource.qualified} {name}", found)
        return found

    async def gone(self, resource: Resource, name: str) -> None:
        """Returns as soon as there is no such object."""
        async with asyncio.timeout(SECONDS):
            with refused("NotFound"):
                while True:
                    await self.talker.get(resource, name)
                    await asyncio.sleep(PAUSE)
        self._transcript.add(f"gone {resource.qualified} {name}", None)

    async def settled(self, resource: Resource, obj: Object, holds: Callable[[Object], bool]) -> None:
        """Returns as soon as something holds of the object if it were created; nothing is written down."""
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    found = await self.talker.create(resource, obj, dry_run=True)
                except Refused as refused:
                    found = refused.told()
                if holds(found):
                    return
                await asyncio.sleep(PAUSE)

    @asynccontextmanager
    async def watch(self, resource: Resource, **selection: Unpack[Selection]) -> AsyncIterator[AsyncIterator[Event]]:
        async with self.talker.watch(resource, **selection) as events:
            yield self._written_down(f"watch {resource.qualified}", events)

    async def _written_down(self, request: str, events: AsyncIterator[Event]) -> AsyncIterator[Event]:
        async for kind, obj in events:
            self._transcript.add(request, {"type": kind, "object": obj})
            yield kind, obj

    async def _tell(self, request: str, doing: Awaitable[T]) -> T:
        try:
            answer = await doing
        except Refused as refused:
            self._transcript.add(request.rstrip(), refused.told())
            raise
        self._transcript.add(request.rstrip(), answer)
        return answer


@contextmanager
def refused(reason: str, *complaints: str) -> Iterator[None]:
    """The block must be refused for `reason`, with exactly these complaints if any are given."""
    with pytest.raises(Refused) as caught:
        yield
    assert caught.value.reason == reason, caught.value
    if complaints:
        assert caught.value.complaints == tuple(sorted(complaints))
