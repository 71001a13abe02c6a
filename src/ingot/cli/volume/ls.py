"""`ingot volume ls`: all volumes, one line each."""

from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.cli.connection import Connection, connection_options, run
from ingot.cli.output import output_option

if TYPE_CHECKING:
    from ingot.api.resource import Resource
    from ingot.cli.connection import Session


@click.command(epilog="Example: ingot volume ls -A --output json")
@connection_options(all_namespaces=True)
@output_option("table", "json", "yaml")
def ls(connection: Connection, output: str) -> None:
    """List volumes: DataVolumes with how far they are, and claims that no DataVolume has filled."""

    async def work(session: "Session") -> int:
        from ingot.cli.roster import show_roster

        show_roster(session, await _rows(session), output, "volumes", "`ingot volume import SOURCE NAME`")
        return 0

    run(connection, work)


async def _rows(session: "Session") -> list[Object]:
    from ingot.api.cdi.names import PRIME_FOR
    from ingot.api.resources import DATA_VOLUMES, VOLUME_CLAIMS

    volumes = await _all(session, DATA_VOLUMES)
    claims = await _all(session, VOLUME_CLAIMS)
    hidden = {key for key, obj in claims.items() if PRIME_FOR in (obj["metadata"].get("annotations") or {})}
    keys = sorted(volumes.keys() | claims.keys() - hidden)
    return [_row(*key, volumes.get(key), claims.get(key)) for key in keys]


async def _all(session: "Session", resource: "Resource") -> dict[tuple[str, str], Object]:
    from ingot.api.object import name_of, namespace_of

    found: dict[tuple[str, str], Object] = {}
    async for page in session.client.pages(resource, session.scope):
        found |= {(namespace_of(item), name_of(item)): item for item in page["items"]}
    return found


def _row(namespace: str, name: str, volume: Object | None, claim: Object | None) -> Object:
    from ingot.cli.volume.claim import as_volume, is_filled_here
    from ingot.cli.volume.state import phase_of
    from ingot.standalone.table import age

    held = claim or {}
    seen = volume or (as_volume(held) if is_filled_here(held) else held)
    return {
        "namespace": namespace,
        "name": name,
        "phase": phase_of(seen),
        "progress": (seen.get("status") or {}).get("progress", ""),
        "size": ((held.get("status") or {}).get("capacity") or {}).get("storage", ""),
        "mode": (held.get("spec") or {}).get("volumeMode", ""),
        "class": (held.get("spec") or {}).get("storageClassName", ""),
        "source": _source((volume or {}).get("spec") or {}),
        "age": age.of(seen),
    }


def _source(spec: Object) -> str:
    """Where the content came from, in a word or an address, without what may be a credential in it."""
    from ingot.images.registry.address import public

    if reference := spec.get("sourceRef"):
        return f"DataSource {reference['name']}"
    for kind, source in (spec.get("source") or {}).items():
        place = public(source.get("url") or source.get("imageStream") or "")
        if "name" in source:
            place = f"{source['namespace']}/{source['name']}"
        return f"{kind} {place}".strip()
    return ""
