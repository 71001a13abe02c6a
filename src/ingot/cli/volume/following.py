"""Waiting for volumes, told by the server: each change is shown, until all have come as far as is wanted."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.cli.volume.board import Board
from ingot.cli.volume.claim import as_volume, is_filled_here, is_volumes
from ingot.cli.volume.state import is_over, line
from ingot.kube.transport import ConnectionFailed

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# One watch request lasts no longer than this; then another goes on.
WATCH_SECONDS = 300
_SECONDS_UNTIL_BACK = 60.0
_PAUSE = 0.5


class Following:
    """The volumes of these names, or where none is given, all that are not done at the first look.

    Where `kinds` has claims, those count as well that no DataVolume has: of those names, or that are filled here.
    """

    def __init__(
        self,
        session: "Session",
        names: Collection[str],
        board: Board,
        done: Callable[[Object], bool] = is_over,
        kinds: Sequence[Resource] = (DATA_VOLUMES,),
    ) -> None:
        self._session, self._board, self._done, self._kinds = session, board, done, kinds
        self._wanted: set[str] | None = set(names) or None
        self._volumes: set[str] = set()
        self.found: dict[str, Object] = {}

    async def run(self, seconds: float | None) -> dict[str, Object]:
        """The volumes as they were last seen, by name. Raises ClickException when one is gone, or time is up."""
        try:
            async with asyncio.timeout(seconds):
                while not await self._once():
                    pass
        except TimeoutError:
            still = [f"{name} is {line(obj)}" for name, obj in self.found.items() if not self._done(obj)]
            raise click.ClickException(
                f"not done after {seconds:g} s, and the work goes on: {'; '.join(still) or 'nothing was seen'}\n"
                "`ingot volume watch` waits on."
            ) from None
        return self.found

    async def _once(self) -> bool:
        """A list and a watch after it; whether all is done."""
        pages = [(kind, await self._list(kind)) for kind in self._kinds]
        self._volumes.clear()
        seen = [self._look(kind, obj) for kind, page in pages for obj in page["items"]]
        for title in (self._wanted or set(self.found)).difference(seen):
            self._forget(title)
        return self._all_done() or await self._watch(pages)

    async def _list(self, kind: Resource) -> Object:
        """The server may be away for a moment: what is done goes on without it."""
        deadline = asyncio.get_running_loop().time() + _SECONDS_UNTIL_BACK
        while True:
            try:
                page: Object = await self._session.client.list(kind, self._session.scope)
                return page
            except ConnectionFailed:
                if not self.found or asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(_PAUSE)

    async def _watch(self, pages: Sequence[tuple[Resource, Object]]) -> bool:
        """All kinds at once, until one of them has said all there is to say; whether all is done."""
        versions = [(kind, page["metadata"]["resourceVersion"]) for kind, page in pages]
        watches = [asyncio.create_task(self._changes(kind, version)) for kind, version in versions]
        try:
            ended, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
            return any(each.result() for each in ended)
        finally:
            for each in watches:
                each.cancel()
            await asyncio.gather(*watches, return_exceptions=True)

    async def _changes(self, kind: Resource, version: str) -> bool:
        events = self._session.client.watch(kind, self._session.scope, resource_version=version, seconds=WATCH_SECONDS)
        try:
            async with aclosing(events):
                async for event in events:
                    if event.type == "DELETED":
                        self._lose(kind, event.object)
                    elif event.type != "BOOKMARK":
                        self._look(kind, event.object)
                    if self._all_done():
                        return True
        except ConnectionFailed:
            return False
        except ApiError as error:
            if error.code != 410:
                raise
        return False

    def _look(self, kind: Resource, obj: Object) -> str:
        """Show the object, if it is of interest; its title, "" for one that is no volume."""
        title = self._title(obj)
        if kind == DATA_VOLUMES:
            self._volumes.add(title)
        elif title in self._volumes or not self._stands_alone(obj):
            return ""
        else:
            obj = as_volume(obj)
        is_wanted = title in (self._wanted or {title})
        if is_wanted and (self._wanted or title in self.found or not self._done(obj)):
            self.found[title] = obj
            self._board.show(title, obj)
        return title

    def _stands_alone(self, claim: Object) -> bool:
        """Whether a claim is a volume to be told of, as far as it says."""
        return not is_volumes(claim) and (is_filled_here(claim) or bool(self._wanted))

    def _lose(self, kind: Resource, obj: Object) -> None:
        title = self._title(obj)
        if kind == DATA_VOLUMES:
            self._volumes.discard(title)
        elif title in self._volumes or not self._stands_alone(obj):
            return
        self._forget(title)

    def _forget(self, title: str) -> None:
        former = self.found.pop(title, None)
        if self._wanted and title in self._wanted:
            since = " any more" if former else ""
            raise click.ClickException(f"there is no volume {title} in namespace {self._session.namespace}{since}")
        if former is not None:
            self._board.drop(title)

    def _all_done(self) -> bool:
        return self.found.keys() >= (self._wanted or set()) and all(map(self._done, self.found.values()))

    def _title(self, obj: Object) -> str:
        return f"{namespace_of(obj)}/{name_of(obj)}" if self._session.all_namespaces else name_of(obj)
