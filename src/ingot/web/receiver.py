"""The end of an upload in its pod: takes the bytes of one upload at a time, and is over when the volume is filled."""

import asyncio
import hmac
import logging
import os
import ssl
from collections.abc import Callable

from aiohttp import web

from ingot.host import pod_sockets
from ingot.images.fault import ImageFault
from ingot.images.pipeline.arrival import Displaced
from ingot.images.pipeline.importer import Progress
from ingot.images.upload import REPLACED, Upload
from ingot.web.body import IDENTITY, LENGTH, OFFSET, BadBody, Cut, Part, part_of, pieces
from ingot.web.door import Door, proceed, refusal

log = logging.getLogger(__name__)

FORM = "/form"
# How long an answer may take to get to whoever has uploaded the last byte.
_FAREWELL_SECONDS = 30.0
_CODES = {"TooLarge": 413, "DiskFull": 507, "WriteFailed": 507, "InternalError": 500}


class Receiver:
    """Serves `upload` to who knows the `word`. To be used in one event loop; `changed` may be called by any thread."""

    def __init__(
        self,
        word: str,
        words: Callable[[ImageFault], str] = str,
        name: str = "the volume",
        refused: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`words` says what is wrong with an upload, to those who have sent it, and so does `refused` to others. `name`
        is what the volume is called."""
        self._words = words
        self._name = name
        self._refuse = refused
        self._told: ImageFault | None = None
        self._word = f"Bearer {word}".encode()
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._door = Door(self._handle)
        self.upload: Upload | None = None

    def changed(self) -> None:
        self._loop.call_soon_threadsafe(self._news.set)

    async def run(self, upload: Upload, host: str, port: int, tls: ssl.SSLContext, progress: Progress) -> int:
        """Serves until the upload is complete; the size of its disk. Raises ImageFault where it cannot listen.

        `progress` is told how far the upload of an earlier process was, once that is known: nobody may bring a byte for
        a long while."""
        self.upload = upload
        await self._open(host, port, tls)
        try:
            await self._until(lambda: upload.settled)
            if upload.running:
                progress(upload.offset, upload.length)
            await self._until(lambda: self._is_over(upload))
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self._idle.wait()
        finally:
            await self._door.close()
        assert upload.size is not None
        return upload.size

    async def _open(self, host: str, port: int, tls: ssl.SSLContext) -> None:
        try:
            if (own := pod_sockets.listening(port)) is not None:
                await self._door.open_socket(own)
            else:
                await self._door.open(host, port, tls)
        except OSError as error:
            why = os.strerror(error.errno).lower() if error.errno else str(error)
            message = (
                f"no upload can be taken at {host} port {port}: {why}; end what listens on port {port} of the node"
            )
            raise ImageFault("the volume", "AddressUnavailable", message, retry=True) from error

    def _is_over(self, upload: Upload) -> bool:
        """Whether the volume is filled; where its upload has come to nothing, that is told, whoever has sent it."""
        fault = upload.fault
        if fault is not None and fault is not self._told and fault.reason != REPLACED:
            self._refuse(self._words(fault))
        self._told = fault
        return upload.complete

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            if not condition():
                await self._news.wait()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="surrogateescape")
        if not hmac.compare_digest(given, self._word):
            return refusal(401, "Unauthorized")
        upload = self.upload
        assert upload is not None
        if request.method == "HEAD":
            return await self._tell(upload)
        if request.method not in ("PUT", "POST"):
            return refusal(405, "only PUT, POST and HEAD are possible", {"Allow": "PUT, POST, HEAD"})
        if upload.complete:
            return _filled()
        if not self._idle.is_set():
            why = f"another upload to {self._name} is under way: try again when it has ended"
            return refusal(503, why, {"Retry-After": "5"})
        self._idle.clear()
        try:
            return await self._take(request, upload, form=request.path == FORM)
        except BadBody as error:
            return refusal(error.code, error.why)
        except Cut as error:
            log.warning("the upload has stopped at byte %d: %s", upload.offset, error.why)
            return refusal(408, error.why, _place(upload))
        finally:
            self._idle.set()
            self.changed()

    async def _tell(self, upload: Upload) -> web.Response:
        """Where the upload goes on."""
        if not upload.running and self._idle.is_set():
            upload.take_up()
        await self._until(lambda: upload.settled)
        return web.Response(headers=_place(upload) | {"Cache-Control": "no-store"})

    async def _take(self, request: web.BaseRequest, upload: Upload, *, form: bool) -> web.Response:
        part = part_of(request, form)
        if part.anew:
            await _begin(upload, part)
        else:
            upload.take_up()
        await self._until(lambda: upload.settled)
        if (wrong := self._wrong(upload, part)) is not None:
            return wrong
        total = part.total or upload.length
        await proceed(request)
        try:
            end = await self._bring(request, upload, part.start, total, form=form)
        except Displaced:
            await self._until(lambda: upload.settled)
            return self._outcome(upload)
        if not part.last:
            return web.Response(status=202, headers={OFFSET: str(upload.offset)})
        if end < total:
            raise Cut(f"the body has ended at byte {end} of {total}")
        upload.finish()
        await self._until(lambda: not upload.running)
        return self._outcome(upload)

    def _wrong(self, upload: Upload, part: Part) -> web.Response | None:
        """The answer to a part of which no byte is wanted."""
        misfit = _misfit(upload, part)
        if upload.complete:
            # By bytes that came before this part: it may be of another disk.
            return _filled() if part.anew or misfit is not None else self._outcome(upload)
        return self._refused(upload.fault) if upload.fault is not None else misfit

    async def _bring(self, request: web.BaseRequest, upload: Upload, position: int, total: int, *, form: bool) -> int:
        """Up to where bytes have come. Raises Displaced when the import is over, or begins anew; BadBody for a byte
        beyond `total` (0: unknown); and as `pieces`."""
        async for piece in pieces(request, form):
            if total and position + len(piece) > total:
                raise BadBody(f"more bytes have come than the {total} that the upload has")
            while True:
                self._news.clear()
                if upload.bring(position, piece):
                    break
                await self._news.wait()
            position += len(piece)
        return position

    def _outcome(self, upload: Upload) -> web.Response:
        if upload.complete:
            return web.Response(headers={OFFSET: str(upload.offset)})
        if upload.fault is not None:
            return self._refused(upload.fault)
        return refusal(409, f"the upload goes on at byte {upload.offset}", _place(upload))

    def _refused(self, fault: ImageFault) -> web.Response:
        code = _CODES.get(fault.reason, 503 if fault.retry else 400)
        text = f"{fault.reason}: {self._words(fault)}; the volume does not have this disk, and waits for another upload"
        return refusal(code, text)


async def _begin(upload: Upload, part: Part) -> None:
    """Has ended when the thread has that does it, also where the client is gone: whoever came earlier would begin
    another upload beside this one."""
    beginning = asyncio.create_task(asyncio.to_thread(upload.begin, part.total, part.identity))
    try:
        await asyncio.shield(beginning)
    finally:
        await asyncio.wait([beginning])


def _misfit(upload: Upload, part: Part) -> web.Response | None:
    """The refusal of a part that is not the next one of this upload."""
    if part.identity and upload.identity and part.identity != upload.identity:
        why = f"what has arrived is of another file ({IDENTITY} {upload.identity}): begin anew, without a Content-Range"
        return refusal(409, why, _place(upload))
    if part.start != upload.offset or not (upload.running or upload.complete):
        return refusal(409, f"the upload goes on at byte {upload.offset}", _place(upload))
    if part.total and upload.length and part.total != upload.length:
        why = f"the upload has {upload.length} bytes, and not {part.total}: begin anew, without a Content-Range"
        return refusal(409, why, _place(upload))
    return None


def _filled() -> web.Response:
    return refusal(409, "the volume is filled already")


def _place(upload: Upload) -> dict[str, str]:
    length = {LENGTH: str(upload.length)} if upload.length else {}
    identity = {IDENTITY: upload.identity} if upload.identity else {}
    return {OFFSET: str(upload.offset), **length, **identity}
