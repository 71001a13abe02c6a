"""Making a volume in a thread, while the claim shows how far it is."""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.host.clone import Progress
from ingot.kube.cache import Cache, key_of
from ingot.kube.client import Client
from ingot.kube.transport import ConnectionFailed
from ingot.standalone.volumes.local import LocalVolumes
from ingot.standalone.volumes.match import request_of
from ingot.standalone.volumes.records import Record
from ingot.standalone.volumes.source import Sources
from ingot.standalone.volumes.words import CLONE_PROGRESS

_SHOWN_SECONDS = 2.0
# More at once would only keep the disk from each other. They have threads of their own: a copy may take an hour, in
# which all else that waits for the disk goes on.
_COPIES = 4


class Copying:
    """Makes volumes, several at a time."""

    def __init__(self, client: Client, claims: Cache, sources: Sources, local: LocalVolumes) -> None:
        self._client = client
        self._claims = claims
        self._sources = sources
        self._local = local
        self._threads = ThreadPoolExecutor(_COPIES, "volume-copy")

    async def make(self, claim: Object, record: Record) -> None:
        """Make the claim's volume. Repeating it changes nothing.

        Raises source.Refused, OSError, and clone.Cancelled when the claim is gone by now.
        """
        if not await asyncio.to_thread(self._local.has, record.name):
            source = self._sources.check(claim)
            await self._fill(claim, record, source)
            # The original must have been left alone until the copy was done.
            self._sources.check(claim)
            await asyncio.to_thread(self._local.publish, record.name)
        if record.block:
            await asyncio.to_thread(self._local.attach, record.name)

    async def _fill(self, claim: Object, record: Record, source: Path | None) -> None:
        progress = Progress()
        showing = asyncio.ensure_future(self._show(claim, progress))
        try:
            work = partial(self._local.fill, record, request_of(claim), source, progress)
            threads = self._threads if source is not None else None
            await asyncio.get_running_loop().run_in_executor(threads, work)
        finally:
            # A thread cannot be cancelled, but asked: what it leaves behind is made anew by the next try.
            progress.cancelled.set()
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing
        if progress.done:
            await self._annotate(claim, None)

    async def _show(self, claim: Object, progress: Progress) -> None:
        """Tell how far it is, now and then; call the copy off when nobody wants it any more."""
        while True:
            await asyncio.sleep(_SHOWN_SECONDS)
            now = self._claims.get(key_of(claim))
            if now is None or uid_of(now) != uid_of(claim):
                progress.cancelled.set()
            elif progress.total:
                await self._annotate(claim, f"{progress.done}/{progress.total}")

    async def _annotate(self, claim: Object, text: str | None) -> None:
        """Progress that could not be shown is no reason to stop."""
        change = {"metadata": {"uid": uid_of(claim), "annotations": {CLONE_PROGRESS: text}}}
        with contextlib.suppress(ApiError, ConnectionFailed):
            await self._client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim))
