"""The source of a golden image is asked now, because somebody wants to know."""

import secrets
from typing import TYPE_CHECKING

from ingot.api.cdi.names import CHECK_NOW, CHECKED
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.cli.golden.arrival import Arrival, is_settled, refuse_idle
from ingot.cli.golden.found import Golden

if TYPE_CHECKING:
    from ingot.cli.connection import Session


async def ask(session: "Session", cron: Object) -> str:
    """Has the cron's source asked; the word by which `answer` knows when that was done."""
    word = secrets.token_hex(8)
    change = {"metadata": {"annotations": {CHECK_NOW: word}}}
    await session.client.patch(DATA_IMPORT_CRONS, name_of(cron), change, namespace_of(cron))
    return word


async def answer(session: "Session", cron: Object, word: str, seconds: float | None, *, settle: bool) -> Golden:
    """The image after its source was asked, whatever it said, and, to `settle`, once that has come about.

    Raises ClickException as `Arrival` and `is_settled`, and where the cron does nothing.
    """

    def is_answered(now: Golden) -> bool:
        refuse_idle(now)
        return now.notes.get(CHECKED) == word and (not settle or is_settled(now))

    return await Arrival(session, str(cron["spec"]["managedDataSource"]), name_of(cron)).until(is_answered, seconds)
