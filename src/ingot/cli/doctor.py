"""`ingot doctor`: what works on this machine, what does not, and what would mend it."""

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.cli.directory import directory_option
from ingot.cli.table import terminal_width
from ingot.cli.wrap import hanging

if TYPE_CHECKING:
    from ingot.node.doctor.check import Check

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(epilog="Example: ingot doctor --dir ~/lab --output json")
@directory_option
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def doctor(directory: Path, output: str) -> None:
    """Show what works on this machine, what does not, and the command that would mend it.

    A small guest is started and ended. Nothing is changed, and nothing is left behind. The exit code is 0 when virtual
    machines can be booted and 1 when they cannot.
    """
    from ingot.node.doctor.examination import can_boot, examine

    places = {"volumes": directory / "volumes", "pools": directory / "node" / "pools"}
    agent = directory / "node"
    checks = asyncio.run(examine(agent if agent.is_dir() else None, places))
    boots = can_boot(checks)
    if output == "json":
        told = {"directory": str(directory), "canBoot": boots, "checks": [asdict(check) for check in checks]}
        click.echo(json.dumps(told, indent=2))
    else:
        click.echo(_text(checks))
        click.echo("\nVirtual machines can be booted here." if boots else "\nNo virtual machine can be booted here.")
    if not boots:
        sys.exit(1)


def _text(checks: list["Check"]) -> str:
    """Each check, as wide as the terminal; what would mend it is on lines of its own, so that it can be copied."""
    width, room = max(len(check.name) for check in checks), terminal_width()
    lines = []
    for check in checks:
        mark = click.style(f"{check.verdict:<4}", fg=_COLOURS[check.verdict])
        first, *rest = hanging(f"{'':<4}  {check.name:<{width}}  ", check.found, room)
        lines += [mark + first[4:], *rest]
        if check.cure:
            lines += hanging(f"{'':<6}{'':<{width}}  → ", check.cure, room)
    return "\n".join(lines)
