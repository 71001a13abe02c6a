"""`ingot status`: whether and where the API server of this machine runs."""

import json
import time
from pathlib import Path
from typing import Any

import click

from ingot.cli.directory import directory_option


@click.command(epilog="Example: ingot status --dir ~/lab --output json")
@directory_option
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(directory: Path, output: str) -> None:
    """Show whether the server of a directory runs, where, and whether it is ready.

    The exit code is 0 for a server that is ready and 1 otherwise.
    """
    found = _status(directory)
    click.echo(json.dumps(found, indent=2) if output == "json" else _text(found))
    if found["state"] != "Ready":
        raise SystemExit(1)


def _status(directory: Path) -> dict[str, Any]:
    """State is Stopped, Starting, NotReady or Ready."""
    from ingot.standalone.probe import is_ready
    from ingot.standalone.process import is_locked, running

    found: dict[str, Any] = {"directory": str(directory)}
    record = running(directory)
    if record is None:
        return found | {"state": "Starting" if is_locked(directory) else "Stopped"}
    return found | {
        "state": "Ready" if is_ready(directory, record.address) else "NotReady",
        "address": record.address,
        "pid": record.pid,
        "uptimeSeconds": int(time.time() - record.since),
        "kubeconfig": str(directory / "kubeconfig"),
        "log": str(directory / "ingot.log"),
    }


def _text(found: dict[str, Any]) -> str:
    names = {"uptimeSeconds": "uptime"}
    shown = found | ({"uptimeSeconds": f"{found['uptimeSeconds']} s"} if "uptimeSeconds" in found else {})
    text = "\n".join(f"{names.get(key, key) + ':':<12}{value}" for key, value in shown.items())
    hint = f"\nstart it with: ingot up --dir {found['directory']} --detach"
    return text + (hint if found["state"] == "Stopped" else "")
