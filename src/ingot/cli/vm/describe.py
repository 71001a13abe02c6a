"""`ingot vm describe`: a machine, its disks down to their sources, and what happened to it."""

from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option, show, without_managers

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.cli.vm.found import Found


@click.command(epilog="Example: ingot vm describe web")
@click.argument("name")
@connection_options()
@output_option("text", "json", "yaml")
def describe(name: str, connection: Connection, output: str) -> None:
    """Show how a machine is doing, its disks from the device to the source, and its events, newest last."""

    async def work(session: "Session") -> int:
        from ingot.cli.vm.found import find

        found = await find(session, name)
        events = await _events(session, found)
        if output == "text":
            click.echo(_portrait(found, events))
        else:
            objects = {"machine": found.machine, "instance": found.instance}
            show({key: without_managers(obj) for key, obj in objects.items() if obj} | {"events": events}, output)
        return 0

    run(connection, work)


async def _events(session: "Session", found: "Found") -> list[Object]:
    """Those of the machine, of its instance and of its launcher."""
    from ingot.api.kubevirt.names import launcher_name
    from ingot.api.resources import PODS
    from ingot.cli.describe import events_of, last_seen

    objects = [obj for obj in (found.machine, found.instance) if obj]
    if found.instance:
        selector = f"metadata.name={launcher_name(found.instance)}"
        objects += (await session.client.list(PODS, found.namespace, field_selector=selector))["items"]
    events = [event for obj in objects for event in await events_of(session, obj)]
    return sorted(events, key=last_seen)


def _portrait(found: "Found", events: list[Object]) -> str:
    from ingot.cli.portrait import conditions_table, events_table
    from ingot.cli.table import terminal_width
    from ingot.cli.vm.chain import trees
    from ingot.cli.wrap import hanging

    facts = _facts(found)
    width = max(map(len, facts)) + 3
    told = [(f"{title}:", value) for title, value in facts.items() if value]
    sections = [row for head, value in told for row in hanging(f"{head:<{width}}", value, terminal_width())]
    sections += ["Disks:", *(f"  {row}" for row in trees(found.spec, found.status.get("volumeStatus") or []))]
    conditions = (found.status or found.any.get("status") or {}).get("conditions") or []
    if conditions:
        sections.append(conditions_table(conditions))
    return "\n".join([*sections, events_table(once(events, conditions))])


def once(events: list[Object], conditions: list[Object]) -> list[Object]:
    """The events with each message said once: not again by another of the machine's objects, nor by a condition."""
    said = {each["message"]: each["type"] for each in conditions if each.get("message")}
    last: dict[tuple[str, str], Object] = {}
    for event in events:
        reason, message = str(event.get("reason", "")), str(event.get("message", ""))
        known = last.pop((reason, message), None)
        count = (event.get("count") or 1) + ((known or {}).get("count") or 0)
        words = f"see condition {said[message]}" if message in said else message
        last[reason, message] = {**event, "count": count, "message": words}
    return list(last.values())


def _facts(found: "Found") -> dict[str, str]:
    from ingot.cli.portrait import moment
    from ingot.cli.vm.state import instance_words, machine_word
    from ingot.control.strategy import strategy_of

    domain = found.spec["domain"]
    cpu = domain.get("cpu") or {}
    cpus = cpu.get("sockets", 1) * cpu.get("cores", 1) * cpu.get("threads", 1)
    requests = (domain.get("resources") or {}).get("requests") or {}
    state = machine_word(found.machine, found.instance)
    detail = instance_words(found.instance) if found.instance else ""
    addresses = [each["ipAddress"] for each in found.status.get("interfaces") or [] if each.get("ipAddress")]
    return {
        "Name": found.name,
        "Namespace": found.namespace,
        "Created": moment(found.any["metadata"].get("creationTimestamp")),
        "State": state if detail in ("", state) else f"{state}, instance {detail}",
        "Node": found.status.get("nodeName", ""),
        "Strategy": strategy_of(found.machine) if found.machine else "",
        "Guest": f"{cpus} CPU{'s' if cpus > 1 else ''}, {_memory(domain, requests)} memory",
        "System": (found.status.get("guestOSInfo") or {}).get("prettyName", ""),
        "Addresses": ", ".join(addresses),
    }


def _memory(domain: Object, requests: Object) -> str:
    return str((domain.get("memory") or {}).get("guest") or requests.get("memory", "?"))
