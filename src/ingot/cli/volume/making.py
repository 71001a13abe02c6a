"""From a plan to a filled volume: made, followed, and told of."""

import asyncio
from typing import TYPE_CHECKING

import click

from ingot.api.cdi import content
from ingot.api.cdi.names import FILES
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.cli.output import show
from ingot.cli.volume.board import Board
from ingot.cli.volume.following import Following
from ingot.cli.volume.options import Copy
from ingot.cli.volume.place import read_claim
from ingot.cli.volume.plan import create, manifest
from ingot.cli.volume.state import SUCCEEDED, phase_of, why

if TYPE_CHECKING:
    from ingot.cli.connection import Session


async def make(session: "Session", wanted: Object, wait: bool, seconds: float | None, output: str) -> int:
    """Makes a volume, waits for it where that is asked for, and tells of it; the exit code."""
    made = await create(session, wanted)
    if output == "text":
        click.echo(f"{name_of(made)} created")
    if wait:
        return await finish(session, name_of(made), seconds, output)
    if output != "text":
        show(made, output)
    return 0


async def make_copy(session: "Session", kind: str, copy: Copy) -> int:
    """As `make`, of a `pvc` or a `snapshot`."""
    source = {kind: read_claim(copy.origin, session.namespace)}
    wanted = manifest(copy.name, session.namespace, source, copy.target)
    if await _holds_files(session, kind, **source[kind]):
        wanted["spec"]["contentType"] = FILES
    return await make(session, wanted, copy.wait, copy.timeout, copy.output)


async def _holds_files(session: "Session", kind: str, namespace: str, name: str) -> bool:
    """Whether the origin was unpacked from an archive, as far as who makes the clone may read it."""
    if kind == "pvc":
        claim = await _readable(session, VOLUME_CLAIMS, name, namespace)
        return claim is not None and content.told(claim) == FILES
    snapshot = await _readable(session, SNAPSHOTS, name, namespace)
    if snapshot is None:
        return False
    former = await _readable(session, VOLUME_CLAIMS, content.claim_name(snapshot), namespace)
    return content.of_snapshot(snapshot, former) == FILES


async def _readable(session: "Session", kind: Resource, name: str, namespace: str) -> Object | None:
    """None for what has no name, is not there, or is not everybody's to read."""
    try:
        return await session.client.get(kind, name, namespace) if name else None
    except ApiError:
        return None


async def finish(session: "Session", name: str, seconds: float | None, output: str) -> int:
    """Waits until a volume is filled, or cannot be; the exit code."""
    try:
        with Board() as board:
            found = (await Following(session, [name], board).run(seconds))[name]
    except asyncio.CancelledError:
        click.echo(f"{name} is filled without this command; `ingot volume watch {name}` shows how far it is.", err=True)
        raise
    if output != "text":
        show(found, output)
    if phase_of(found) == SUCCEEDED:
        if output == "text":
            click.echo(f"{name} is ready{await _of_claim(session, found)}")
        return 0
    click.echo(f"Error: {name} has failed: {why(found) or 'it does not say why'}", err=True)
    click.echo(f"`ingot describe datavolume {name}` says more; remove it with `ingot volume rm {name}`.", err=True)
    return 1


async def _of_claim(session: "Session", volume: Object) -> str:
    """How large it has become, where its claim can be read."""
    name = (volume.get("status") or {}).get("claimName") or name_of(volume)
    try:
        claim = await session.client.get(VOLUME_CLAIMS, name, namespace_of(volume))
    except ApiError:
        return ""
    size = ((claim.get("status") or {}).get("capacity") or {}).get("storage")
    return f": claim {name}, {size}" if size else f": claim {name}"
