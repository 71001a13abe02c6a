"""Waiting until an object is as it should be, told by the server and not by asking again and again."""

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import aclosing
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError, not_found
from ingot.cli.goal import Goal
from ingot.kube.transport import ConnectionFailed

if TYPE_CHECKING:
    from ingot.cli.connection import Session

# One watch request lasts no longer than this; then another goes on.
WATCH_SECONDS = 300
# Whether an object, or its absence, is the end of the wait.
Look = Callable[[Object | None], bool]
# Clears the line on a terminal.
_CLEAR = "\r\033[K"


class NotMetError(Exception):
    """Time is up: `goal` of `word` is not met, and `seen` says how far it is."""

    def __init__(self, word: str, goal: Goal, seen: str, seconds: float) -> None:
        super().__init__(f"{word}: no {goal} after {seconds:g} s; last seen: {seen}")
        self.word = word
        self.goal = goal
        self.seen = seen


class Deadline:
    """A moment that several waits share; the first look at each object is always allowed."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._start = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.elapsed)


class Progress:
    """One line on standard error about what is waited for: rewritten on a terminal, else one for each change."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._text = ""
        self._live = sys.stderr.isatty()
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        if self._live:
            self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticker:
            self._ticker.cancel()
        self.clear()

    def say(self, text: str) -> None:
        if text == self._text:
            return
        self._text = text
        if self._live:
            self._draw()
        else:
            click.echo(text, err=True)

    def clear(self) -> None:
        """Make room for other output."""
        if self._live and self._text:
            click.echo(_CLEAR, nl=False, err=True)
        self._text = ""

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(1)
            self._draw()

    def _draw(self) -> None:
        import shutil

        if self._text:
            clock = f" ({self._deadline.elapsed:.0f} s of {self._deadline.seconds:g} s)"
            room = shutil.get_terminal_size().columns - len(clock) - 1
            click.echo(f"{_CLEAR}{self._text[:room]}{clock}", nl=False, err=True)


async def wait_for(
    session: "Session",
    resource: Resource,
    name: str,
    namespace: str,
    goal: Goal,
    deadline: Deadline,
    progress: Progress,
    word: str,
) -> Object | None:
    """The object once it meets the goal. Raises NotMetError, or the server's NotFound where that is hopeless."""
    last: Object | None = None

    def look(obj: Object | None) -> bool:
        nonlocal last
        last = obj
        if obj is None and goal.needs_object:
            raise not_found(resource.group, resource.plural, name)
        if goal.met(obj):
            return True
        progress.say(f"waiting for {goal} of {word}: {goal.seen(obj)}")
        return False

    selector = f"metadata.name={name}"
    while True:
        page = await session.client.list(resource, namespace, field_selector=selector)
        if look(page["items"][0] if page["items"] else None):
            return last
        try:
            async with asyncio.timeout(deadline.left):
                if await _watch(session, resource, namespace, selector, page["metadata"]["resourceVersion"], look):
                    return last
        except TimeoutError:
            raise NotMetError(word, goal, goal.seen(last), deadline.seconds) from None


async def _watch(
    session: "Session", resource: Resource, namespace: str, selector: str, version: str, look: Look
) -> bool:
    """Whether a change met the goal before the watch ended, for whatever reason."""
    events = session.client.watch(
        resource, namespace, resource_version=version, seconds=WATCH_SECONDS, field_selector=selector
    )
    try:
        async with aclosing(events):
            async for event in events:
                if event.type != "BOOKMARK" and look(None if event.type == "DELETED" else event.object):
                    return True
    except ConnectionFailed:
        # The list that comes next finds out whether the server is there.
        return False
    except ApiError as error:
        if error.code != 410:
            raise
    return False
