"""`ingot golden add`: from a name in a registry to an image that every namespace can boot."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, run
from ingot.cli.golden.options import golden_options, place_of, schedule_options, wait_options
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.golden.kept import Kept
    from ingot.cli.golden.plan import Plan


@click.command(epilog="Example: ingot golden add quay.io/containerdisks/fedora:latest --name fedora --every 12h")
@click.argument("reference", metavar="REF")
@click.option("--name", required=True, help="What machines call it: golden:NAME.")
@schedule_options
@click.option("--keep", type=click.IntRange(0), default=3, show_default=True, help="How many versions to keep.")
@click.option("--size", default="", metavar="SIZE", help="Grow its disk to this size; without it, as large as it is.")
@click.option("--storage-class", "--class", default="", metavar="NAME", help="If not the default class.")
@click.option("--secret", default="", metavar="NAME", help="The Secret with the credentials for REF.")
@click.option("--certificates", default="", metavar="NAME", help="The ConfigMap with authorities to trust.")
@click.option("--checksums", default="", metavar="URL", help="The file with checksums beside an http(s)://… disk.")
@click.option("--prereleases", is_flag=True, help="Without a tag in REF: versions such as 1.2.0-rc1 count too.")
@click.option("--private", is_flag=True, help="Do not let everybody clone from the namespace.")
@golden_options
@wait_options("it can be booted")
@output_option("text", "json", "yaml")
def add(
    reference: str,
    name: str,
    every: str,
    schedule: str,
    keep: int,
    size: str,
    storage_class: str,
    secret: str,
    certificates: str,
    checksums: str,
    prereleases: bool,
    private: bool,
    connection: Connection,
    wait: bool,
    timeout: float | None,
    output: str,
) -> None:
    """Follow REF from now on, and make what it is now a golden image NAME.

    REF is HOST/REPOSITORY:TAG of a registry, whose tag may move; without a tag, the newest version among all tags; or
    http(s)://… of a disk. Each new version is imported beside the old one, and NAME moves when it is complete.

    The namespace is made if it is not there, and opened: everybody may clone from it, unless --private is given.
    Secrets and ConfigMaps are those of the namespace. The same command again goes on where it was interrupted.
    """
    from ingot.cli.golden.plan import Plan, followed_source
    from ingot.cli.golden.schedule import schedule_of

    source = followed_source(reference, secret, certificates)
    if checksums and "http" not in source:
        raise click.UsageError("--checksums is for http(s)://…: what comes from a registry is verified by its digest")
    when = schedule_of(every, schedule, f"{connection.namespace}/{name}")
    plan = Plan(name, connection.namespace, source, when, keep, size, storage_class, checksums, prereleases)

    async def work(session: "Session") -> int:
        from ingot.cli.golden.rights import prepare

        await prepare(session, private)
        return await follow(session, plan, wait, timeout, output)

    run(connection, work)


async def follow(session: "Session", plan: "Plan", wait: bool, seconds: float | None, output: str) -> int:
    """Makes what follows the image, waits for it where that is asked for, and tells of it; the exit code."""
    from ingot.cli.golden.asking import answer, ask

    await _refuse_rivals(session, plan)
    made = await _created(session, plan)
    # One that was there before may have failed since, for a reason that is mended now.
    word = await ask(session, made)
    if not wait:
        show(made, output) if output != "text" else click.echo(f"{plan.name} will follow its source: {plan.schedule}")
        return 0
    golden = await answer(session, made, word, seconds, settle=True)
    current = golden.current
    if output != "text":
        show(golden.link, output)
    else:
        version, place = current.title if current else "", place_of(plan.namespace, plan.name)
        click.echo(f"{plan.name} is ready: {version}; boot it with `ingot vm run {place}`")
    if current and current.volume and plan.is_larger(current.volume):
        click.echo(_not_grown(plan, current), err=True)
    return 0


def _not_grown(plan: "Plan", current: "Kept") -> str:
    """What to do about a version that was kept, and is smaller than was asked for."""
    place = place_of(plan.namespace, plan.name)
    return (
        f"{current.title} was there already, imported without --size {plan.size}, and stays as large as it is; those "
        f"to come are grown. `ingot vm run {place},size={plan.size}` grows the disk of a machine. To have this version "
        f"imported anew, give the same command after this:\n  ingot golden rm {plan.name} -n {plan.namespace}"
    )


async def _refuse_rivals(session: "Session", plan: "Plan") -> None:
    """Raises ClickException where another cron has the name, or waits for it: the oldest is the one that counts."""
    from ingot.api.object import name_of
    from ingot.cli.golden.found import find_all

    for golden in await find_all(session):
        cron = golden.cron
        if cron and cron["spec"]["managedDataSource"] == plan.name != name_of(cron):
            does = "waits for" if golden.has_lost else "makes"
            raise click.ClickException(
                f"DataImportCron {name_of(cron)} of namespace {plan.namespace} {does} golden image {plan.name} "
                f"already; {_end_first(plan, golden.name)}"
            )


async def _created(session: "Session", plan: "Plan") -> dict[str, object]:
    """The cron, made now or before by the same words. Raises ClickException for one of other words."""
    from ingot.api.object import name_of
    from ingot.api.resources import DATA_IMPORT_CRONS
    from ingot.api.status import ApiError
    from ingot.cli.golden.found import find_all
    from ingot.cli.golden.plan import differences
    from ingot.cli.manifest import Manifest, Place
    from ingot.cli.refusal import refusal

    wanted = plan.cron()
    try:
        return await session.client.create(DATA_IMPORT_CRONS, wanted)
    except ApiError as error:
        if error.reason == "Invalid":
            raise click.ClickException(f"{plan.name}: {refusal(Manifest(wanted, Place(plan.name)), error)}") from error
        if error.reason != "AlreadyExists":
            raise
    there = await session.client.get(DATA_IMPORT_CRONS, plan.name, plan.namespace)
    if fields := differences(wanted, there):
        followed = [each.name for each in await find_all(session) if each.cron and name_of(each.cron) == plan.name]
        raise click.ClickException(
            f"there is a DataImportCron {plan.name} already, with another {', '.join(fields)}; "
            f"{_end_first(plan, next(iter(followed), plan.name))}"
        )
    return there


def _end_first(plan: "Plan", golden: str) -> str:
    """What to do about the cron that follows the golden image of that name, and is in the way."""
    return (
        "choose another --name, or end that first, with its images kept:\n"
        f"  ingot golden rm {golden} --keep-images -n {plan.namespace}"
    )
