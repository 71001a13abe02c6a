"""Making a volume in a thread, while the claim shows how far it is."""

import asyncio
import contextlib

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.transport import ConnectionFailed
from ingot.standalone.volumes.clone import Progress
from ingot.standalone.volumes.local import LocalVolumes, Record
from ingot.standalone.volumes.match import request_of
from ingot.standalone.volumes.words import CLONE_PROGRESS, annotation

_SHOWN_SECONDS = 2.0


class Copying:
    def __init__(self, client: Client, local: LocalVolumes) -> None:
        self._client = client
        self._local = local

    async def make(self, claim: Object, record: Record, source: str) -> None:
        """Make the claim's volume, a copy of the volume `source` if that is not "". Raises OSError."""
        progress = Progress()
        showing = asyncio.ensure_future(self._show(claim, progress))
        try:
            await asyncio.to_thread(self._local.make, record, request_of(claim), source, progress)
        finally:
            # A thread cannot be cancelled, but asked: what it leaves behind is made anew by the next try.
            progress.cancelled.set()
            showing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await showing
        if annotation(claim, CLONE_PROGRESS) or progress.done:
            await self._annotate(claim, None)

    async def _show(self, claim: Object, progress: Progress) -> None:
        while True:
            await asyncio.sleep(_SHOWN_SECONDS)
            if progress.total:
                await self._annotate(claim, f"{progress.done}/{progress.total}")

    async def _annotate(self, claim: Object, text: str | None) -> None:
        """Progress that could not be shown is no reason to stop."""
        change = {"metadata": {"uid": claim["metadata"]["uid"], "annotations": {CLONE_PROGRESS: text}}}
        with contextlib.suppress(ApiError, ConnectionFailed):
            await self._client.patch(VOLUME_CLAIMS, name_of(claim), change, namespace_of(claim))
