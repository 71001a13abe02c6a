"""`ingot vm rm`: a machine, its instance and all that runs for it."""

from typing import TYPE_CHECKING

import click

from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.api.object import Object
    from ingot.cli.connection import Session
    from ingot.cli.vm.found import Found
    from ingot.cli.waiting import Deadline, Progress


@click.command(epilog="Example: ingot vm rm web --force")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@connection_options()
@click.option("--force", is_flag=True, help="At once, without letting the guest shut down.")
@timeout_option("5m", "How long to wait until nothing is left, for all together.")
@output_option("text", "json", "yaml")
def rm(names: tuple[str, ...], connection: Connection, force: bool, timeout: float, output: str) -> None:
    """Remove machines, and return when nothing of them is left.

    Running guests are asked to shut down first. Claims, files and what is behind addresses stay; overlays and clones
    go, and so do DataVolumes that the machine has made.
    """

    async def work(session: "Session") -> int:
        from ingot.cli.vm.found import find
        from ingot.cli.waiting import Deadline, Progress

        deadline = Deadline(timeout)
        machines = [await find(session, name) for name in dict.fromkeys(names)]
        for found in machines:
            await _delete(session, found, force)
        results: list[Object] = []
        async with Progress(deadline) as progress:
            for found in machines:
                gone = await _wait(session, found, deadline, progress)
                results.append({"name": found.name, "namespace": found.namespace, "removed": gone})
                progress.clear()
                if gone and output == "text":
                    click.echo(f"{found.name} removed")
        if output != "text":
            show(results, output)
        return 0 if all(result["removed"] for result in results) else 1

    run(connection, work)


async def _delete(session: "Session", found: "Found", force: bool) -> None:
    from ingot.api.object import uid_of
    from ingot.api.resources import INSTANCES, MACHINES
    from ingot.api.status import ApiError

    if force and found.instance:
        change = {"spec": {"terminationGracePeriodSeconds": 0}}
        await session.client.patch(INSTANCES, found.name, change, found.namespace)
    for resource, obj in ((MACHINES, found.machine), (INSTANCES, found.instance)):
        try:
            if obj:
                await session.client.delete(resource, found.name, found.namespace, uid=uid_of(obj))
        except ApiError as error:
            # Gone already, or another of its name has come: neither is ours to delete.
            if error.code not in (404, 409):
                raise


async def _wait(session: "Session", found: "Found", deadline: "Deadline", progress: "Progress") -> bool:
    from ingot.api.object import uid_of
    from ingot.api.resources import MACHINES
    from ingot.cli.vm.goals import Gone, gone
    from ingot.cli.waiting import NotMetError, wait_for

    if found.instance and not await gone(session, found.instance, deadline, progress):
        return False
    if found.machine is None:
        return True
    try:
        goal = Gone(uid_of(found.machine))
        await wait_for(session, MACHINES, found.name, found.namespace, goal, deadline, progress, found.name)
    except NotMetError as error:
        progress.clear()
        click.echo(f"Error: {error}\n`ingot vm describe {found.name}` says more.", err=True)
        return False
    return True
