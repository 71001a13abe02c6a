"""Versions of an image that nothing follows: the oldest go, unless somebody needs them."""

from typing import TYPE_CHECKING

import click

from ingot.api.status import ApiError
from ingot.cli.deleting import Deleter
from ingot.cli.golden.found import Golden
from ingot.cli.golden.holders import find_holders
from ingot.cli.golden.kept import Kept

if TYPE_CHECKING:
    from ingot.cli.connection import Session


async def prune(session: "Session", golden: Golden, keep: int, left: Kept | None) -> None:
    """Deletes what is beyond `keep`, and tells of it. `left` is what the image stood for just now."""
    old = outdated(golden, keep, left)
    if not old:
        return
    try:
        held = await find_holders(session, golden)
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        click.echo(f"older versions of {golden.name} stay, since you may not see who uses them", err=True)
        return
    free = [one.victim for one in old if one.key not in held]
    async for result in Deleter(session, "background", None, ignore_not_found=True, dry_run=False).delete(free):
        click.echo(result.problem or f"{result.word} of before removed", err=True)


def outdated(golden: Golden, keep: int, left: Kept | None = None) -> list[Kept]:
    """What is older than the newest that are kept, of which the present one is one. What is on its way stays, and what
    was just `left` until the next time: a clone that was begun before may not be known yet."""
    current = golden.current
    others = [one for one in golden.own if one.is_usable and (current is None or one.key != current.key)]
    return [one for one in others[keep - 1 :] if left is None or one.key != left.key]
