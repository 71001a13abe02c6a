"""The endpoint for uploads, put together: a door, a proxy behind it, and its address in the API."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from ingot.control.reach import Reach
from ingot.kube.client import Client
from ingot.kube.manager import Manager
from ingot.web.address import Address
from ingot.web.destination import Destinations
from ingot.web.door import Door
from ingot.web.proxy import Proxy


@dataclass(frozen=True, slots=True)
class Place:
    """Where to listen: on `port`, or with 0 on `earlier` if that is free, so that addresses last, or on any. `known_as`
    is HOST:PORT as clients reach it, where that is another; `authority` is whom they trust, in PEM. `reach` is the
    way to the pods."""

    host: str
    port: int
    tls: ssl.SSLContext
    reach: Reach
    earlier: int = 0
    known_as: str = ""
    authority: str = ""


async def serve(client: Client, place: Place, stop: asyncio.Event, ready: Callable[[int], None]) -> None:
    """Serves until `stop`; `ready` is told the port. Raises OSError when the address cannot be had."""
    door = Door(Proxy(Destinations(client, place.reach)))
    try:
        await _open(door, place)
        ready(door.port)
        manager = Manager(client)
        Address(manager, place.known_as or _shown(place.host, door.port), lambda: place.authority)
        await manager.run(stop)
    finally:
        await door.close()


async def _open(door: Door, place: Place) -> None:
    if not place.port and place.earlier:
        try:
            await door.open(place.host, place.earlier, place.tls)
            return
        except OSError:
            # Another program has it by now.
            await door.close()
    await door.open(place.host, place.port, place.tls)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host or 'localhost'}:{port}"
