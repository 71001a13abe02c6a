"""`ingot golden rm`: an image, what follows it, and its versions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.duration import timeout_option
from ingot.cli.golden.options import golden_options

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.deleting import Victim
    from ingot.cli.golden.found import Golden, Key
    from ingot.cli.waiting import Deadline


@click.command(epilog="Example: ingot golden rm fedora --keep-images")
@click.argument("name")
@click.option("--keep-images", is_flag=True, help="Only stop to follow its source: NAME and its versions stay.")
@golden_options
@timeout_option("60s", "How long to wait until nothing is left.")
def rm(name: str, keep_images: bool, connection: Connection, timeout: float) -> None:
    """Remove golden image NAME with all of its versions, and return when nothing of it is left.

    Machines and volumes that were cloned from it keep their disks. While something uses a version itself, such as a
    machine, stopped or not, or another golden image, nothing is removed. With --keep-images NAME can be booted as
    before, and stays at the version that it stands for until something follows its source again: a pin is gone.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.golden.found import find
        from ingot.cli.golden.users import find_users
        from ingot.cli.waiting import Deadline

        golden = await find(session, name)
        _refuse_heirs(golden)
        _refuse(golden, keep_images)
        if not keep_images:
            _refuse_held(golden, await _holders(session, golden))
        deadline = Deadline(timeout)
        # First what would make the rest anew.
        # In the foreground a cluster would take for its dependent, and delete, a DataSource that is to stay.
        await _delete(session, _followers(golden), deadline, "background")
        if keep_images:
            click.echo(_ended(golden))
            return 0
        await _delete(session, _parts(golden), deadline, "foreground")
        users = await find_users(session)
        left = users.made_from(golden) if users else []
        click.echo(f"{name} removed" + (f"; {len(left)} that were made from it keep their disks" if left else ""))
        return 0

    run(connection, work)


def _refuse_heirs(golden: "Golden") -> None:
    """Raises ClickException where another cron would take the image over, and bring it back."""
    from ingot.api.object import name_of
    from ingot.cli.golden.found import lost_name

    for heir in golden.heirs:
        raise click.ClickException(
            f"DataImportCron {name_of(heir)} would take {golden.name} over, and follow a source of its own; end that "
            f"first:\n  ingot golden rm {lost_name(name_of(heir))} --keep-images -n {golden.namespace}\n"
            f"or let it have {golden.name}:\n"
            f"  ingot delete dataimportcron {name_of(golden.cron or {})} -n {golden.namespace}"
        )


def _refuse(golden: "Golden", keep_images: bool) -> None:
    """Raises ClickException for what would not be as was asked for."""
    from ingot.control.golden.belonging import owners

    cron = golden.cron
    if keep_images and cron is None:
        raise click.ClickException(f"nothing follows {golden.name}: there is nothing to remove without its images")
    if keep_images and cron and cron["spec"].get("retentionPolicy") == "None":
        raise click.ClickException(
            f"the images of {golden.name} go with its DataImportCron, whose retentionPolicy is None and cannot be "
            "changed; leave out --keep-images"
        )
    for ssp in owners(cron or golden.link or {}) if cron or not golden.own else ():
        raise click.ClickException(
            f'SSP "{ssp}" makes {golden.name} again whenever it is removed; take it out of the '
            "dataImportCronTemplates there, or of the HyperConverged that they are from"
        )


def _ended(golden: "Golden") -> str:
    """What an image stands for when nothing follows it any more."""
    if golden.has_lost:
        return f"{golden.name} removed; what it has imported stays"
    told = f"{golden.name} is followed no more, and stands for {golden.current.title if golden.current else '-'}"
    if not golden.pinned:
        return told
    return f"{told}; its pin is gone: `ingot golden add` brings the newest version, and `ingot golden pin` holds it"


async def _holders(session: "Session", golden: "Golden") -> "dict[Key, str]":
    """By version, one that holds it; of other namespaces only for who may see them."""
    from ingot.api.status import ApiError
    from ingot.cli.golden.holders import find_holders

    try:
        return await find_holders(session, golden)
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
    click.echo("You may not see whether other namespaces are about to clone from it.", err=True)
    return await find_holders(session, golden, far=False)


def _refuse_held(golden: "Golden", held: "Mapping[Key, str]") -> None:
    """Raises ClickException where somebody would lose a disk."""
    if not held:
        return
    uses = [f"{one.title}, in {one.name}, by {held[one.key]}" for one in golden.own if one.key in held]
    may_keep = golden.cron and golden.cron["spec"].get("retentionPolicy") != "None"
    instead = f"; `ingot golden rm {golden.name} --keep-images` only ends the following" if may_keep else ""
    raise click.ClickException(
        f"{golden.name} is in use, and all of it stays:\n  "
        + "\n  ".join(uses)
        + f"\nRemove those first, or wait where they are about to have their own copy{instead}."
    )


def _followers(golden: "Golden") -> "list[Victim]":
    from ingot.api.object import name_of, namespace_of, uid_of
    from ingot.api.resources import DATA_IMPORT_CRONS
    from ingot.cli.deleting import Victim

    cron = golden.cron
    if cron is None:
        return []
    name = name_of(cron)
    return [Victim(f"dataimportcron/{name}", DATA_IMPORT_CRONS, name, namespace_of(cron), uid_of(cron))]


def _parts(golden: "Golden") -> "list[Victim]":
    """The link, and what was imported or published for it. What it merely points to is another's, and stays."""
    from ingot.api.object import name_of, uid_of
    from ingot.api.resources import DATA_SOURCES
    from ingot.cli.deleting import Victim

    found = [one.victim for one in golden.own]
    if link := golden.link:
        name = name_of(link)
        found.insert(0, Victim(f"datasource/{name}", DATA_SOURCES, name, golden.namespace, uid_of(link)))
    return found


async def _delete(session: "Session", victims: "Sequence[Victim]", deadline: "Deadline", cascade: str) -> None:
    """Raises ClickException with all that could not be removed."""
    from ingot.cli.deleting import Deleter

    deleter = Deleter(session, cascade, deadline, ignore_not_found=True, dry_run=False)
    problems = [result.problem async for result in deleter.delete(victims) if result.problem]
    if problems:
        raise click.ClickException("\n".join(problems))
