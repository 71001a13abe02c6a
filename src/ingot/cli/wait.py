"""`ingot wait`: return when objects are as they should be."""

from typing import TYPE_CHECKING, Any

import click

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.status import ApiError
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.duration import timeout_option
from ingot.cli.output import output_option, show

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.goal import Goal
    from ingot.cli.target import Target


@click.command(epilog="Example: ingot wait datavolume/fedora --for condition=Ready --timeout 5m")
@click.argument("what", nargs=-1, required=True, metavar="TYPE/NAME… | TYPE NAME…")
@connection_options(all_namespaces=True)
@click.option(
    "--for",
    "goal_text",
    required=True,
    metavar="GOAL",
    help="condition=NAME[=STATUS], jsonpath='{.status.phase}'=VALUE, create or delete.",
)
@click.option("--selector", "-l", default="", metavar="LABELS", help="Those that have these labels now.")
@click.option("--all", "everything", is_flag=True, help="All of the type that are there now.")
@timeout_option("30s", "How long to wait, for all together; 0 looks once.")
@output_option("text", "json", "yaml")
def wait(
    what: tuple[str, ...],
    connection: Connection,
    goal_text: str,
    selector: str,
    everything: bool,
    timeout: float,
    output: str,
) -> None:
    """Wait until each object has reached a goal.

    The exit code is 1 when time is up or an object is not there, with what was seen last.
    """
    from ingot.cli.goal import parse

    goal = parse(goal_text)

    async def work(session: "Session") -> int:
        from ingot.cli.target import check_names, resolve
        from ingot.cli.waiting import Deadline, Progress

        targets = await resolve(session.discovery, what)
        check_names(targets, all_namespaces=session.all_namespaces, selector=selector)
        deadline = Deadline(timeout)
        results: list[Object] = []
        async with Progress(deadline) as progress:
            for target in targets:
                for name, namespace, uid in await _members(session, target, selector, everything):
                    waited = _aim(goal, uid)
                    results.append(await _one(session, target, name, namespace, waited, deadline, progress))
                    progress.clear()
                    _tell(results[-1], goal, output)
        if output != "text":
            show(results, output)
        return 0 if all(result["met"] for result in results) else 1

    run(connection, work)


def _aim(goal: "Goal", uid: str) -> "Goal":
    """A deletion is that of the object that is there now."""
    from ingot.cli.goal import Deleted

    return Deleted(uid) if isinstance(goal, Deleted) else goal


async def _members(session: "Session", target: "Target", selector: str, everything: bool) -> list[tuple[str, str, str]]:
    """Name, namespace and uid of each object to wait for; an object that is not there has no uid."""
    from ingot.cli.target import existing

    namespace = session.namespace if target.served.resource.namespaced else ""
    if not target.names and not (selector or everything):
        raise click.UsageError(f"which {target.served.resource.plural}? Give names, --selector or --all")
    members = []
    names = iter(target.names)
    async for each in existing(session, target, selector):
        asked = next(names, "")
        if isinstance(each, ApiError):
            members.append((asked, namespace, ""))
        else:
            members.append((name_of(each), namespace_of(each), uid_of(each)))
    if not members:
        raise click.ClickException(f"there are no {target.served.resource.plural} to wait for")
    return members


async def _one(
    session: "Session", target: "Target", name: str, namespace: str, goal: "Goal", deadline: Any, progress: Any
) -> Object:
    from ingot.cli.waiting import NotMetError, wait_for

    word = f"{target.word}/{name}"
    result: Object = {"object": word, "namespace": namespace, "met": True}
    try:
        await wait_for(session, target.served.resource, name, namespace, goal, deadline, progress, word)
    except NotMetError as error:
        result |= {"met": False, "seen": error.seen, "problem": str(error)}
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        result |= {"met": False, "seen": "it is not there", "problem": f"{word}: {error.message}"}
    return result


def _tell(result: Object, goal: "Goal", output: str) -> None:
    if not result["met"]:
        click.echo(f"Error: {result['problem']}", err=True)
    elif output == "text":
        click.echo(f"{result['object']} {_met(goal)}")


def _met(goal: "Goal") -> str:
    from ingot.cli.goal import Created, Deleted

    if isinstance(goal, Deleted):
        return "deleted"
    return "created" if isinstance(goal, Created) else "condition met"
