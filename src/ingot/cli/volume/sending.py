"""An upload: the volume is made or found again, a token asked for, and what is missing of the file is sent."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import aiohttp
import click

from ingot.api.object import Object
from ingot.api.resources import CDI_CONFIGS, DATA_VOLUMES, UPLOAD_TOKEN_REQUESTS
from ingot.cli.image.progress import progress
from ingot.cli.volume.board import Board
from ingot.cli.volume.following import Following
from ingot.cli.volume.options import Target
from ingot.cli.volume.parcel import Parcel
from ingot.cli.volume.plan import create, found, manifest
from ingot.cli.volume.state import SUCCEEDED, UPLOAD_READY, is_over, phase_of, why

if TYPE_CHECKING:
    from ingot.cli.connection import Session

PATH = "/v1beta1/upload"
OFFSET, IDENTITY = "Upload-Offset", "Upload-Identity"
# A proxy that takes no byte for so long is gone. The answer comes after the disk is verified and synced.
_SILENCE_SECONDS = 300.0
# Seconds after each try; they begin anew when bytes have arrived. What answers by one of these codes has not taken all,
# and may do so later.
_PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 8.0)
_CONFLICT = 409
_AGAIN = (408, _CONFLICT, 429, 502, 503, 504)
_NO_NOTES: Mapping[str, str] = MappingProxyType({})


class Sending:
    """The upload into the volume `name` of a session's namespace; `proxy` is "" for the one that CDIConfig names."""

    def __init__(self, session: "Session", name: str, proxy: str, insecure: bool) -> None:
        self._session, self._name, self._proxy, self._insecure = session, name, proxy, insecure
        # Whether it is this file that the volume is filled with, when it is.
        self._ours = False
        # The most bytes that the server has ever had.
        self._arrived = 0

    async def prepare(self, target: Target, seconds: float | None, notes: Mapping[str, str] = _NO_NOTES) -> None:
        """The volume is there, with `notes` as annotations, and waits for bytes. Raises ClickException if it cannot."""
        known = await self._known()
        if known is None:
            wanted = manifest(self._name, self._session.namespace, {"upload": {}}, target)
            wanted["metadata"]["annotations"] |= notes
            await create(self._session, wanted)
        elif "upload" not in (known["spec"].get("source") or {}) or is_over(known):
            raise click.ClickException(
                f"{self._name} is {phase_of(known)}, and waits for no upload; choose another NAME, or remove it: "
                f"ingot volume rm {self._name}"
            )
        with Board() as board:
            following = Following(self._session, [self._name], board, _takes_bytes)
            ready = (await following.run(seconds))[self._name]
        if is_over(ready):
            raise click.ClickException(f"{self._name} has failed: {why(ready)}")

    async def send(self, parcel: Parcel) -> None:
        """Sends what of the file's bytes the server has not got yet, again after a cut; or all of them, where it
        has got bytes of another file.

        Raises ClickException with its refusal, and Changed for a file that was changed before all was sent.
        """
        config = await found(self._session, CDI_CONFIGS, "config") or {}
        url = f"{(self._proxy or _proxy_of(config)).rstrip('/')}{PATH}"
        timeout = aiohttp.ClientTimeout(total=None, sock_read=_SILENCE_SECONDS)
        connector = aiohttp.TCPConnector(ssl=self._trust(config))
        with progress(parcel.path.name) as tell:
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as http:
                pauses = list(_PAUSES)
                while pauses:
                    arrived = self._arrived
                    if await self._attempt(http, url, parcel, tell):
                        return
                    if self._arrived > arrived:
                        pauses = list(_PAUSES)
                    await asyncio.sleep(pauses.pop(0))
                    await asyncio.to_thread(parcel.check)
        raise click.ClickException(
            f"{url}: the connection broke {len(_PAUSES)} times without getting on, or the server was busy, as is said "
            "above\n"
            "What has arrived is kept: the same command goes on from there."
        )

    async def _attempt(
        self, http: aiohttp.ClientSession, url: str, parcel: Parcel, tell: Callable[[int, int], None]
    ) -> bool:
        """Whether all is sent; where it is not and may be tried again, the reason is told."""
        if phase_of(await self._known() or {}) == SUCCEEDED:
            if self._ours:
                # The answer to the last try was lost.
                return True
            raise click.ClickException(
                f"{self._name} was filled by an upload that was begun before this one, perhaps of the same file; for "
                "another disk choose another NAME"
            )
        headers = {"Authorization": f"Bearer {await self._token()}"}
        try:
            async with http.head(url, headers=headers) as answer:
                if not await _accepted(answer):
                    return False
                offset = self._place(answer.headers, parcel.identity)
                self._arrived = max(self._arrived, offset)
            headers |= {"Content-Type": "application/octet-stream", "Content-Length": str(parcel.size - offset)}
            headers[IDENTITY] = parcel.identity
            if offset:
                headers["Content-Range"] = f"bytes {offset}-{parcel.size - 1}/{parcel.size}"
            async with http.put(url, headers=headers, data=self._noted(parcel.pieces(offset, tell))) as answer:
                # Refused for another upload, which may have been of other bytes.
                self._ours &= answer.status != _CONFLICT
                return await _accepted(answer)
        except (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError, TimeoutError) as error:
            # It is by this too that a file ends its upload that was changed meanwhile.
            await asyncio.to_thread(parcel.check)
            _tell_again(str(error) or type(error).__name__)
            return False

    def _place(self, told: Mapping[str, str], identity: str) -> int:
        """Which byte to go on with, by what the server tells of the bytes that it has: 0 to begin anew."""
        offset = int(told.get(OFFSET, "0"))
        self._ours = told.get(IDENTITY, "" if offset else identity) == identity
        if self._ours:
            return offset
        if offset:
            click.echo(
                "what has arrived is of another file, or of this one before it was changed: begun anew", err=True
            )
        return 0

    async def _noted(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The pieces. Where all are taken, nothing but this file is what the volume is filled with."""
        async for piece in pieces:
            yield piece
        self._ours = True

    async def _known(self) -> Object | None:
        return await found(self._session, DATA_VOLUMES, self._name)

    async def _token(self) -> str:
        request: Object = {
            "apiVersion": UPLOAD_TOKEN_REQUESTS.api_version,
            "kind": UPLOAD_TOKEN_REQUESTS.kind,
            "metadata": {"name": self._name, "namespace": self._session.namespace},
            "spec": {"pvcName": self._name},
        }
        answer = await self._session.client.create(UPLOAD_TOKEN_REQUESTS, request)
        return str(answer["status"]["token"])

    def _trust(self, config: Object) -> ssl.SSLContext:
        """The machine's authorities, the API server's own, which on one machine is the proxy's too, and the one that
        CDIConfig names."""
        context = ssl.create_default_context()
        if authority := self._session.client.transport.config.ca:
            context.load_verify_locations(cadata=authority.read().decode())
        if told := (config.get("status") or {}).get("uploadProxyCA"):
            context.load_verify_locations(cadata=told)
        if self._insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _proxy_of(config: Object) -> str:
    spec, status = config.get("spec") or {}, config.get("status") or {}
    url = str(spec.get("uploadProxyURLOverride") or status.get("uploadProxyURL") or "")
    if not url:
        raise click.ClickException("no upload proxy is known to CDIConfig config; name one with --proxy URL")
    return url if "://" in url else f"https://{url}"


def _takes_bytes(volume: Object) -> bool:
    return phase_of(volume) == UPLOAD_READY or is_over(volume)


async def _accepted(answer: aiohttp.ClientResponse) -> bool:
    """Whether the server took it; False where it says that another try may help. Raises ClickException."""
    if answer.status < 400:
        return True
    said = (await answer.text()).strip()[:500] or f"HTTP {answer.status}, {answer.reason}"
    if answer.status in _AGAIN:
        _tell_again(said)
        return False
    raise click.ClickException(f"{answer.url}: refused with {answer.status}: {said}")


def _tell_again(why: str) -> None:
    click.echo(f"interrupted: {why}; tried again", err=True)
