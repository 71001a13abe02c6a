"""A golden image is made to stand for one of its versions, and to stay there."""

import asyncio
from typing import TYPE_CHECKING

import click

from ingot.api.cdi.names import PINNED
from ingot.api.object import Object, name_of
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES
from ingot.api.status import ApiError
from ingot.cli.golden.arrival import Arrival, refuse_idle
from ingot.cli.golden.found import Golden, target
from ingot.cli.golden.kept import Kept, short
from ingot.cli.golden.standing import is_ready
from ingot.kube.transport import ConnectionFailed

if TYPE_CHECKING:
    from ingot.cli.connection import Session


async def move(session: "Session", golden: Golden, to: Kept, seconds: float | None) -> Golden:
    """The image, once it stands for that version. What follows it is pinned there; where nothing does, it is moved.

    Raises ClickException when that is not so in time. A pin is taken back then, and where the command is interrupted;
    where what follows it does nothing, none is made.
    """
    if golden.cron is None:
        source: Object = {"pvc": None, "snapshot": None, "dataSource": None}
        source[to.field] = {"namespace": to.key[0], "name": to.name}
        await session.client.patch(DATA_SOURCES, golden.name, {"spec": {"source": source}}, golden.namespace)
        return await Arrival(session, golden.name).until(lambda now: stands_for(now, [to]), seconds)
    refuse_idle(golden)
    pinning = asyncio.ensure_future(pin(session, golden, to.digest))
    # In which class a version is taken that is there in two of them is for those to say who follow the pin.
    same = [one for one in golden.kept if one.digest == to.digest]
    try:
        await asyncio.shield(pinning)
        arrival = Arrival(session, golden.name, name_of(golden.cron), lasts=False)
        return await arrival.until(lambda now: stands_for(now, same), seconds)
    except click.ClickException as late:
        raise click.ClickException(f"{late.message}\n{await _taken_back(session, golden)}") from late
    except asyncio.CancelledError:
        # A pin that is on its way may have been made already, and must not overtake the request that takes it back.
        await asyncio.gather(pinning, return_exceptions=True)
        click.echo(await _taken_back(session, golden), err=True)
        raise


def stands_for(golden: Golden, versions: list[Kept]) -> bool:
    """Whether what is cloned from it now is one of these."""
    return target(golden.link) in [one.key for one in versions] and is_ready(golden)


async def _taken_back(session: "Session", golden: Golden) -> str:
    """What follows the image is pinned as it was before, or not at all; that, to be told."""
    try:
        await pin(session, golden, golden.pinned or golden.bad_pin or None)
    except (ApiError, ConnectionFailed) as error:
        return f"Its pin could not be taken back: {error}; `ingot golden unpin {golden.name}` takes it away."
    if golden.pinned:
        return f"Its pin was taken back: it stays at {short(golden.pinned)} as before."
    return "Its pin was taken back: it follows its source as before."


async def pin(session: "Session", golden: Golden, digest: str | None) -> None:
    """It is to stay at the digest; None: no longer. Raises ClickException for one that nothing follows."""
    if golden.cron is None:
        raise click.ClickException(
            f"nothing follows {golden.name}, so that nothing moves it: it stays as it is until `ingot golden rollback` "
            "or `ingot golden publish`"
        )
    change: Object = {"metadata": {"annotations": {PINNED: digest}}}
    await session.client.patch(DATA_IMPORT_CRONS, name_of(golden.cron), change, golden.namespace)
