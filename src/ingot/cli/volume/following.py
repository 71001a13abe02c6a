"""Waiting for volumes, told by the server: each change is shown, until all have come as far as is wanted."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.cli.volume.board import Board
from ingot.cli.volume.state import is_over, line
from ingot.kube.transport import ConnectionFailed

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# One watch request lasts no longer than this; then another goes on.
WATCH_SECONDS = 300
_SECONDS_UNTIL_BACK = 60.0
_PAUSE = 0.5


class Following:
    """The volumes of these names, or where none is given, all that are not done at the first look."""

    def __init__(
        self, session: "Session", names: Collection[str], board: Board, done: Callable[[Object], bool] = is_over
    ) -> None:
        self._session, self._board, self._done = session, board, done
        self._wanted: set[str] | None = set(names) or None
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
        page = await self._list()
        for obj in page["items"]:
            self._look(obj)
        self._check({self._title(obj) for obj in page["items"]})
        return self._all_done() or await self._watch(page["metadata"]["resourceVersion"])

    async def _list(self) -> Object:
        """The server may be away for a moment: what is done goes on without it."""
        deadline = asyncio.get_running_loop().time() + _SECONDS_UNTIL_BACK
        while True:
            try:
                page: Object = await self._session.client.list(DATA_VOLUMES, self._session.scope)
                return page
            except ConnectionFailed:
                if not self.found or asyncio.get_running_loop().time() > deadline:
                    raise
                await asyncio.sleep(_PAUSE)

    async def _watch(self, version: str) -> bool:
        events = self._session.client.watch(
            DATA_VOLUMES, self._session.scope, resource_version=version, seconds=WATCH_SECONDS
        )
        try:
            async with aclosing(events):
                async for event in events:
                    if event.type == "DELETED":
                        self._forget(self._title(event.object))
                    elif event.type != "BOOKMARK":
                        self._look(event.object)
                    if self._all_done():
                        return True
        except ConnectionFailed:
            return False
        except ApiError as error:
            if error.code != 410:
                raise
        return False

    def _look(self, obj: Object) -> None:
        title = self._title(obj)
        if title not in (self._wanted or {title}) or (title not in self.found and not self._wanted and self._done(obj)):
            return
        self.found[title] = obj
        self._board.show(title, obj)

    def _check(self, present: set[str]) -> None:
        for title in (self._wanted or set(self.found)) - present:
            self._forget(title)

    def _forget(self, title: str) -> None:
        if self._wanted and title in self._wanted:
            raise click.ClickException(f"there is no volume {title} in namespace {self._session.namespace} any more")
        if self.found.pop(title, None) is not None:
            self._board.drop(title)

    def _all_done(self) -> bool:
        return self.found.keys() >= (self._wanted or set()) and all(map(self._done, self.found.values()))

    def _title(self, obj: Object) -> str:
        return f"{namespace_of(obj)}/{name_of(obj)}" if self._session.all_namespaces else name_of(obj)
