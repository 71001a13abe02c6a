"""`ingot golden check`: looks for a new version at once."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.golden.options import golden_options, wait_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.golden.found import Golden


@click.command(epilog="Example: ingot golden check fedora")
@click.argument("name")
@golden_options
@wait_options("the newest version can be booted", "10m")
def check(name: str, connection: Connection, wait: bool, timeout: float) -> None:
    """Ask the source of golden image NAME for a new version now, without waiting for its schedule.

    A new one is imported at once, unless NAME is pinned. The exit code is 1 when the source does not answer, the import
    fails or is not complete in time, or NAME is not its cron's; it then stands for what it stood for before.
    """

    async def work(session: "Session") -> int:
        from ingot.api.cdi.names import UNREACHABLE_WHY
        from ingot.cli.golden.asking import answer, ask
        from ingot.cli.golden.found import find

        golden = await find(session, name)
        if golden.cron is None:
            raise click.ClickException(
                f"nothing follows {name}, so that there is nobody to ask; follow a source with "
                f"`ingot golden add REF --name {name}`"
            )
        now = await answer(session, golden.cron, await ask(session, golden.cron), timeout, settle=wait)
        click.echo(f"{name}: {_told(golden, now)}")
        return 1 if UNREACHABLE_WHY in now.notes else 0

    run(connection, work)


def _told(before: "Golden", now: "Golden") -> str:
    """What the check has brought."""
    from ingot.api.cdi.names import DESIRED_DIGEST, NEWEST_VERSION, UNREACHABLE_WHY
    from ingot.cli.golden.arrival import BAD_PIN
    from ingot.cli.golden.kept import short

    newest = now.notes.get(DESIRED_DIGEST, "")
    named = f"{now.notes.get(NEWEST_VERSION, '')}@{short(newest)[:8]}".removeprefix("@")
    if why := now.notes.get(UNREACHABLE_WHY):
        return f"its source does not answer: {why}"
    if now.bad_pin:
        return BAD_PIN.format(pin=now.bad_pin, name=now.name)
    if now.pinned and now.pinned != newest:
        return f"pinned; the newest version is {named}, and waits for `ingot golden unpin {now.name}`"
    is_there = now.current is not None and now.current.digest == newest
    if _is_older(before, newest):
        return f"its source has moved back to {named}{'' if is_there else ', and so will it'}"
    if not is_there:
        return f"there is a new version {named}, which is being imported"
    is_new = not before.current or before.current.digest != newest
    return f"a new version {named} is ready" if is_new else f"{named} is still the newest version"


def _is_older(golden: "Golden", digest: str) -> bool:
    """Whether that version was imported before the one that the image stands for."""
    current = golden.current
    same = [one for one in golden.kept if one.digest == digest]
    return current is not None and current.digest != digest and any(one.order < current.order for one in same)
