"""Waiting for a golden image, told by the server: imports are shown as they come, until it is as it should be."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ingot.api.cdi import names
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES
from ingot.cli.golden.found import Golden, assemble
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.standing import READY, UP_TO_DATE, is_ready
from ingot.cli.volume.board import Board
from ingot.cli.volume.state import line, why
from ingot.kube.informer import Informer
from ingot.kube.objects import condition

if TYPE_CHECKING:
    from ingot.cli.connection import Session


# So long nothing may happen before it is said that nobody may be there to do anything.
PATIENCE_SECONDS = 15.0
_UNSEEN = "nobody has looked at it yet; do the controllers run?"


class Arrival:
    """One image of the session's namespace, and the cron that follows it, of the same name unless another is given.

    `lasts`: what is waited for goes on without the command.
    """

    def __init__(self, session: "Session", name: str, cron: str = "", *, lasts: bool = True) -> None:
        client, namespace, cron = session.client, session.namespace, cron or name
        self._name, self._lasts = name, lasts
        self._crons = Informer(client, DATA_IMPORT_CRONS, namespace, field_selector=f"metadata.name={cron}")
        self._links = Informer(client, DATA_SOURCES, namespace, field_selector=f"metadata.name={name}")
        self._volumes = Informer(client, DATA_VOLUMES, namespace, label_selector=f"{names.IMPORT_CRON}={cron}")
        self._changed = asyncio.Event()
        self._patience: float | None = PATIENCE_SECONDS

    async def until(self, done: Callable[[Golden], bool], seconds: float | None) -> Golden:
        """The image, once it is `done`. Raises ClickException when it is gone or time is up, and what `done` raises."""
        informers = (self._crons, self._links, self._volumes)
        for each in informers:
            each.add_handler(lambda *_: self._changed.set())
        running = [asyncio.create_task(each.run()) for each in informers]
        try:
            async with asyncio.timeout(seconds):
                for each in informers:
                    await each.wait_synced()
                with Board() as board:
                    return await self._follow(done, board)
        except TimeoutError:
            late = f"{self._name} is not ready after {seconds:g} s"
            so_far = _so_far(self._found())
            if not self._lasts:
                raise click.ClickException(f"{late}: {so_far}") from None
            raise click.ClickException(f"{late}, and the work goes on: {so_far}\n`ingot golden ls` shows it.") from None
        except asyncio.CancelledError:
            if self._lasts:
                told = f"{self._name} goes on without this command; `ingot golden ls` shows how far it is."
                click.echo(told, err=True)
            raise
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _follow(self, done: Callable[[Golden], bool], board: Board) -> Golden:
        while True:
            self._changed.clear()
            golden = self._found()
            if golden is None:
                raise click.ClickException(f"golden image {self._name} has been removed meanwhile")
            for one in golden.kept:
                if one.volume and not one.is_usable:
                    board.show(one.name, one.volume)
                else:
                    board.drop(one.name)
            if done(golden):
                return golden
            try:
                await asyncio.wait_for(self._changed.wait(), self._patience)
            except TimeoutError:
                self._patience = None
                if _so_far(golden) == _UNSEEN:
                    board.clear()
                    click.echo(f"{self._name}: {_UNSEEN}", err=True)

    def _found(self) -> Golden | None:
        kept = [Kept(volume, None) for volume in self._volumes.cache.list()]
        found = assemble(self._links.cache.list(), self._crons.cache.list(), kept)
        return found[0] if found else None


def is_settled(golden: Golden) -> bool:
    """Whether it can be cloned, and is the newest version that is known, or the one that it is to stay at.

    Raises ClickException where that will not come by itself.
    """
    if golden.bad_pin:
        raise click.ClickException(f"{golden.name} is {BAD_PIN.format(pin=golden.bad_pin, name=golden.name)}")
    wanted = golden.pinned or golden.notes.get(names.DESIRED_DIGEST, "")
    if wanted and golden.current and golden.current.digest == wanted and is_ready(golden):
        return True
    refuse_idle(golden)
    if told := _hindrance(golden, wanted):
        raise click.ClickException(f"{golden.name}: {told}\n{_NEXT.format(name=golden.name)}")
    return False


def refuse_idle(golden: Golden) -> None:
    """Raises ClickException, with the cure, where what follows it does nothing, as it is going or has lost the name."""
    said = condition(golden.cron or {}, UP_TO_DATE) or {}
    if said.get("reason") in ("Conflict", "Unmanaged", "Deleting"):
        raise click.ClickException(f"{name_of(golden.cron or {})}: {said.get('message')}")


_NEXT = (
    "What it stood for before, if anything, is still there. It is tried again by itself, and now with "
    "`ingot golden check {name}`; `ingot golden rm {name}` removes it, so that it can be added in another way."
)
# Of an image that somebody has annotated by hand.
BAD_PIN = "pinned to {pin!r}, which is no digest, and stays where it is; `ingot golden unpin {name}` takes that away"
# What objects call it, and what `ingot golden add` does.
_OPTIONS = (("in certConfigMap", "with --certificates"), ("in secretRef", "with --secret"))


def _hindrance(golden: Golden, wanted: str) -> str:
    for one in golden.kept:
        if one.digest == wanted and one.has_failed and one.failed_at >= golden.notes.get(names.LAST_CRON_TIME, ""):
            return f"the import of {one.title} has failed: {why(one.volume or {}) or 'it does not say why'}"
    if unreachable := golden.notes.get(names.UNREACHABLE_WHY):
        for field, option in _OPTIONS:
            unreachable = unreachable.replace(field, option)
        return unreachable
    if _is_refused(golden, wanted):
        return str((condition(golden.cron or {}, UP_TO_DATE) or {}).get("message") or "")
    return ""


def _is_refused(golden: Golden, wanted: str) -> bool:
    """Whether no import is made, for the server does not take one. Of what is wanted since the last look only what the
    status says after that counts."""
    cron: Object = golden.cron or {}
    reason = (condition(cron, UP_TO_DATE) or {}).get("reason")
    looked = (cron.get("status") or {}).get("lastExecutionTimestamp") == golden.notes.get(names.LAST_CRON_TIME)
    return bool(looked and reason == "ImportFailed" and all(one.digest != wanted for one in golden.kept))


def _so_far(golden: Golden | None) -> str:
    if golden is None:
        return "the server has not told of it yet"
    under_way = "; ".join(f"{one.name} is {line(one.volume or {})}" for one in golden.kept if not one.is_usable)
    told = [condition(golden.cron or {}, UP_TO_DATE), condition(golden.link or {}, READY)]
    said = next((str(each["message"]) for each in told if each and each.get("message")), "")
    return under_way or said or _UNSEEN
