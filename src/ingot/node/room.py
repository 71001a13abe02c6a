"""Room on the node: copies give way before guests lack what they write to."""

import asyncio
import contextlib
import os
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Any

from ingot.host.descriptor import Descriptor
from ingot.host.tasks import together

# While less is free, a guest's own writes could fail for lack of room: rather the copy does.
LEAST_ROOM = 256 << 20
_LOOK_SECONDS = 0.5


class NoRoom(Exception):
    """Less is free at `place` than must be; the message says what would help."""

    def __init__(self, place: Path) -> None:
        super().__init__(f"less than {LEAST_ROOM >> 20} MiB are free in {place}: make room there")
        self.place = place


def shared(files: Iterable[tuple[Descriptor, int]]) -> list[Path]:
    """Directories of those files, of disks of these sizes, whose filesystems hold more than the one copy: one that was
    made for it is nearly full with it, and takes no room from anybody."""
    found = []
    for file, size in files:
        told = os.fstatvfs(file.fileno())
        if told.f_blocks * told.f_frsize > 2 * size:
            found.append(file.path.readlink().parent)
    return found


async def while_there_is_room(work: Coroutine[Any, Any, object], places: Iterable[Path]) -> None:
    """Does the work, and breaks it off when there is too little room at one of the places. Raises NoRoom."""
    over = asyncio.Event()

    async def do() -> None:
        try:
            await work
        finally:
            over.set()

    await together((do(), _watch(list(places), over)))


async def _watch(places: Iterable[Path], over: asyncio.Event) -> None:
    while not over.is_set():
        for place in places:
            found = await asyncio.to_thread(os.statvfs, place)
            if found.f_bavail * found.f_frsize < LEAST_ROOM:
                raise NoRoom(place)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), _LOOK_SECONDS)
