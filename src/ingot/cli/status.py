"""`ingot status`: whether and where the server of this machine runs, and what runs beside it."""

import json
import time
from pathlib import Path
from typing import Any

import click

from ingot.cli.directory import directory_option

CHILDREN = ("machine", "agent", "web")


@click.command(epilog="Example: ingot status --dir ~/lab --output json")
@directory_option
@click.option("--output", "-o", type=click.Choice(["text", "json"]), default="text", show_default=True)
def status(directory: Path, output: str) -> None:
    """Show whether the server of a directory runs, where, and whether it is ready; and what runs beside it.

    The exit code is 0 for a server that is ready and 1 otherwise.
    """
    found = _status(directory)
    click.echo(json.dumps(found, indent=2) if output == "json" else _text(found))
    if found["state"] != "Ready":
        raise SystemExit(1)


def _status(directory: Path) -> dict[str, Any]:
    """State is Stopped, Starting, NotReady or Ready. What does not run has no entry."""
    from ingot.standalone.probe import is_ready
    from ingot.standalone.process import is_locked, running

    found: dict[str, Any] = {"directory": str(directory)}
    record = running(directory)
    if record is None:
        state = "Starting" if is_locked(directory) else "Stopped"
        return found | {"state": state} | _guests(directory)
    found |= {
        "state": "Ready" if is_ready(directory, record.address) else "NotReady",
        "address": record.address,
        "pid": record.pid,
        "uptimeSeconds": int(time.time() - record.since),
        "kubeconfig": str(directory / "kubeconfig"),
        "log": str(directory / "ingot.log"),
    }
    found |= _uploads(directory) | _metrics(directory)
    return found | _children(directory) | _nodes(directory, record.address) | _guests(directory)


def _uploads(directory: Path) -> dict[str, Any]:
    """Where uploads are taken, if they are."""
    from ingot.cli.web import known_url
    from ingot.standalone.children import state_of

    known = state_of(directory, "web")
    return {"uploads": known_url(directory)} if known is not None and known.state == "Running" else {}


def _metrics(directory: Path) -> dict[str, Any]:
    """Where Prometheus finds its figures, if it does."""
    from ingot.cli.metrics import known_url
    from ingot.standalone.children import state_of

    known = state_of(directory, "machine")
    url = known_url(directory) if known is not None and known.state == "Running" else ""
    return {"metrics": url} if url else {}


def _children(directory: Path) -> dict[str, Any]:
    from ingot.standalone.children import state_of

    found = {}
    for name in CHILDREN:
        if (known := state_of(directory, name)) is not None:
            found[name] = {
                "state": known.state,
                **({"pid": known.pid} if known.pid else {}),
                "sinceSeconds": int(time.time() - known.since),
                "restarts": known.restarts,
                **({"message": known.message} if known.message else {}),
                "log": str(directory / f"{name}.log"),
            }
    return found


def _nodes(directory: Path, address: str) -> dict[str, Any]:
    from ingot.standalone.probe import ask

    answer = ask(directory, address, "/api/v1/nodes")
    nodes = json.loads(answer)["items"] if answer else []
    return {"nodes": [{"name": node["metadata"]["name"], "state": _readiness(node)} for node in nodes]} if nodes else {}


def _readiness(node: dict[str, Any]) -> str:
    conditions = node.get("status", {}).get("conditions") or ()
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    return "Ready" if ready else "NotReady"


def _guests(directory: Path) -> dict[str, Any]:
    from ingot.cli.residents import guests

    running = [str(guest) for guest in guests(directory)]
    return {"guests": running} if running else {}


def _text(found: dict[str, Any]) -> str:
    names = {"uptimeSeconds": "uptime"}
    plain = {key: value for key, value in found.items() if isinstance(value, str | int)}
    shown = plain | ({"uptimeSeconds": f"{found['uptimeSeconds']} s"} if "uptimeSeconds" in found else {})
    text = "\n".join(f"{names.get(key, key) + ':':<12}{value}" for key, value in shown.items())
    parts = _parts(found)
    if found["state"] == "Stopped":
        parts.append(f"start it with: ingot up --dir {found['directory']} --detach")
    return "\n".join([text, *parts])


def _parts(found: dict[str, Any]) -> list[str]:
    """A small table of what runs beside the server."""
    from ingot.cli.table import lines

    rows = []
    for name in CHILDREN:
        if name in found:
            child = found[name]
            rows.append(
                [name, child["state"], str(child.get("pid", "")), str(child["restarts"]), child.get("message", "")]
            )
    rows += [["node", node["state"], "", "", node["name"]] for node in found.get("nodes", ())]
    rows += [["guest", "Running", "", "", name] for name in found.get("guests", ())]
    return ["", *lines(["PART", "STATE", "PID", "RESTARTS", ""], rows)] if rows else []
