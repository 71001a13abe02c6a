"""A version that is published, what is noted of it and of the one before, and a file that changes meanwhile."""

import hashlib
import os
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import click
import pytest
from golden_images import PLACE, golden, made

from ingot.api.cdi.names import LAST_USE
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import forbidden
from ingot.cli.connection import Session
from ingot.cli.golden import publishing
from ingot.cli.golden.found import Golden
from ingot.cli.golden.kept import Kept
from ingot.cli.golden.publishing import Publishing
from ingot.cli.volume.options import Target
from ingot.cli.volume.parcel import Changed, Parcel

BEFORE, NEXT = made(1), made(2)


class Server:
    """A client whose server has the `known` volume, and refuses changes of `kept`; `done`: the others."""

    def __init__(self, known: Object, kept: str = "") -> None:
        self._known, self._kept = known, kept
        self.done: list[str] = []

    async def get(self, resource: Resource, name: str, namespace: str) -> Object:
        return self._known

    async def create(self, resource: Resource, obj: Object) -> None:
        pass

    async def patch(self, resource: Resource, name: str, change: Object, namespace: str) -> None:
        assert list(change["metadata"]["annotations"]) == [LAST_USE]
        if name == self._kept:
            raise forbidden(DATA_VOLUMES.group, DATA_VOLUMES.plural, name, "it is held")
        self.done.append(f"{name} noted")

    async def delete(self, resource: Resource, name: str, namespace: str) -> None:
        assert resource == DATA_VOLUMES
        self.done.append(f"{name} deleted")


async def publish(server: Server, file: Path) -> None:
    session = cast(Session, SimpleNamespace(client=server, namespace=PLACE))
    await Publishing(session, "fedora", "", insecure=False).publish(file, "", Target(), None)


@pytest.mark.parametrize("kept", [BEFORE, NEXT])
async def test_an_image_moves_also_where_what_served_cannot_be_noted(
    kept: Object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(NEXT, name_of(kept))

    async def find(_session: Session, _name: str) -> Golden:
        return golden(1, BEFORE, NEXT)

    async def move(_session: Session, image: Golden, to: Kept, _seconds: float | None) -> Golden:
        server.done.append(f"moved to {to.name}")
        return image

    monkeypatch.setattr(publishing, "find", find)
    monkeypatch.setattr(publishing, "move", move)
    file = tmp_path / "disk.iso"
    file.touch()
    await publish(server, file)
    (other,) = [name_of(each) for each in (BEFORE, NEXT) if each is not kept]
    assert server.done == [f"moved to {name_of(NEXT)}", f"{other} noted"]
    assert f"that {Kept(kept, None).title} has served cannot be noted" in capsys.readouterr().err


class Sender:
    """Sends a file that is changed meanwhile."""

    def __init__(self, _session: Session, claim: str, _proxy: str, _insecure: bool) -> None:
        self.claim = claim

    async def prepare(self, _target: Target, _seconds: float | None, _notes: dict[str, str]) -> None:
        pass

    async def send(self, parcel: Parcel) -> None:
        os.utime(parcel.path, ns=(1, 1))
        parcel.check()


async def test_what_was_sent_of_a_file_that_is_changed_meanwhile_is_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "Sending", Sender)
    server = Server(made(2, phase="UploadReady"))
    file = tmp_path / "disk.raw"
    file.write_bytes(bytes(4096))
    with pytest.raises(click.ClickException, match="What was sent is thrown away; fedora is what it was") as caught:
        await publish(server, file)
    assert isinstance(caught.value.__cause__, Changed)
    assert server.done == [f"fedora-{hashlib.sha256(bytes(4096)).hexdigest()[:12]} deleted"]
