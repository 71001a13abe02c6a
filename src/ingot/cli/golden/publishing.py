"""A file on its way to being a golden image: sent into a volume of its own, and only then what the image stands for."""

import asyncio
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES
from ingot.api.status import ApiError
from ingot.cli.golden.found import Golden, find, find_all
from ingot.cli.golden.kept import Kept, short
from ingot.cli.golden.moving import move
from ingot.cli.golden.plan import link
from ingot.cli.image.progress import progress
from ingot.cli.volume.board import Board
from ingot.cli.volume.following import Following
from ingot.cli.volume.options import Target
from ingot.cli.volume.parcel import Changed, Parcel
from ingot.cli.volume.plan import found
from ingot.cli.volume.sending import Sending
from ingot.cli.volume.state import SUCCEEDED, phase_of, why
from ingot.cli.volume.upload import sized
from ingot.control.golden.belonging import owners
from ingot.kube.clock import SYSTEM, micro_timestamp

if TYPE_CHECKING:
    from ingot.cli.connection import Session

_PIECE = 1 << 20


class Publishing:
    """The golden image `name` of the session's namespace; `proxy` is "" for the one that CDIConfig names."""

    def __init__(self, session: "Session", name: str, proxy: str, insecure: bool) -> None:
        self._session, self._name, self._proxy, self._insecure = session, name, proxy, insecure

    async def check(self) -> Golden | None:
        """The image as it is; None for a new one. Raises ClickException where something else decides what it stands
        for."""
        golden = next((each for each in await find_all(self._session) if each.name == self._name), None)
        if golden and golden.cron:
            raise click.ClickException(
                f"{self._name} follows a source of its own, which would move it again; choose another --name, or stop "
                f"that first:\n  ingot golden rm {self._name} --keep-images -n {self._session.namespace}"
            )
        for ssp in owners(golden.link) if golden and golden.link else ():
            raise click.ClickException(
                f'SSP "{ssp}" keeps {self._name} at the claim of that name; choose another --name, or fill it:\n'
                f"  ingot volume upload FILE {self._name} -n {self._session.namespace}"
            )
        return golden

    async def publish(self, file: Path, version: str, target: Target, seconds: float | None) -> Golden:
        """The image, once it stands for the file. Raises ClickException."""
        parcel = await asyncio.to_thread(Parcel.of, file)
        digest = await asyncio.to_thread(_digest, file)
        claim = f"{self._name}-{short(digest)}"
        notes = {
            names.DESIRED_DIGEST: f"sha256:{digest}",
            names.VERSION: version or file.name,
        }
        known = await found(self._session, DATA_VOLUMES, claim)
        if phase_of(known or {}) != SUCCEEDED:
            known = await self._send(parcel, claim, notes, sized(target, file), seconds)
        return await self._move(Kept(known, None), seconds)

    async def _send(
        self, parcel: Parcel, claim: str, notes: dict[str, str], target: Target, seconds: float | None
    ) -> Object:
        sending = Sending(self._session, claim, self._proxy, self._insecure)
        try:
            await sending.prepare(target, seconds, notes)
            await sending.send(parcel)
            with Board() as board:
                filled = (await Following(self._session, [claim], board).run(seconds))[claim]
        except asyncio.CancelledError:
            click.echo(f"What has arrived of {self._name} is kept: the same command goes on from there.", err=True)
            raise
        except Changed as changed:
            await self._session.client.delete(DATA_VOLUMES, claim, self._session.namespace)
            raise click.ClickException(
                f"{changed.message}\nWhat was sent is thrown away; {self._name} is what it was."
            ) from changed
        if phase_of(filled) != SUCCEEDED:
            raise click.ClickException(
                f"{claim} has failed: {why(filled) or 'it does not say why'}\n{self._name} is what it was; remove the "
                f"remains with `ingot volume rm {claim} -n {self._session.namespace}`."
            )
        return filled

    async def _move(self, to: Kept, seconds: float | None) -> Golden:
        """It stands for that version, made now if it is new."""
        namespace = self._session.namespace
        try:
            await self._session.client.create(DATA_SOURCES, link(self._name, namespace, to.name))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        golden = await find(self._session, self._name)
        await move(self._session, golden, to, seconds)
        for served in (golden.current, to):
            if served is not None:
                await self._note(served)
        return await find(self._session, self._name)

    async def _note(self, served: Kept) -> None:
        """It serves now, or did until now: so those who go back find what did so last, also where a version is
        published once more. Tells where that cannot be noted: the image has moved all the same."""
        change: Object = {"metadata": {"annotations": {names.LAST_USE: micro_timestamp(SYSTEM.time())}}}
        try:
            await self._session.client.patch(served.resource, served.name, change, served.key[0])
        except ApiError as error:
            told = (
                f"that {served.title} has served cannot be noted: {error}; `ingot golden rollback {self._name} VERSION`"
            )
            click.echo(f"{told} goes back to it by name", err=True)


def _digest(file: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits. Raises ClickException for one that cannot be read."""
    digest, done = hashlib.sha256(), 0
    try:
        size = file.stat().st_size
        with file.open("rb") as opened, progress(f"{file.name}, taking its digest") as tell:
            while piece := opened.read(_PIECE):
                digest.update(piece)
                done += len(piece)
                tell(done, size)
    except OSError as error:
        raise click.ClickException(f"{file} cannot be read: {error.strerror}") from error
    return digest.hexdigest()
