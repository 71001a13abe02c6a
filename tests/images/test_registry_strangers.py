"""Servers elsewhere that want to send us to this machine, by names of theirs, or to know who we are to another."""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from images.servers.faulty import Asked, FaultyServer, RangeHandler, answer
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.reference import Reference
from ingot.images.registry import address, connection
from ingot.images.registry.client import Registry
from ingot.images.registry.manifest import Descriptor
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Transport
from ingot.images.url import open_url

DATA = os.urandom(1000)
LAYER = Descriptor(media_type="x", digest=Digest.of(DATA), size=len(DATA))
ELSEWHERE = "127.0.0.2"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Names and what they are looked up to; ELSEWHERE counts as another machine."""
    found: dict[str, str] = {}
    look_up, own = socket.getaddrinfo, address.own
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest: look_up(found.get(host, host), *rest))
    for module in (address, connection):
        monkeypatch.setattr(module, "own", lambda host: host != ELSEWHERE and own(host))
    return found


@pytest.fixture
def transport(settings: Settings) -> Iterator[Transport]:
    made = Transport(settings)
    yield made
    made.close()


def test_a_stranger_cannot_send_us_home_by_a_name(transport: Transport, names: dict[str, str]) -> None:
    names |= {"front.example": ELSEWHERE, "inner.example": "127.0.0.1"}

    def front_handler(asked: Asked, client: socket.socket) -> None:
        answer(client, 302, location=f"http://inner.example:{inner.port}/")

    with (
        FaultyServer(RangeHandler(DATA)) as inner,
        FaultyServer(front_handler, ELSEWHERE) as front,
        FaultyServer(front_handler) as neighbour,
    ):
        for kept in (False, True):
            with pytest.raises(ImageFault) as caught:
                open_url(transport, f"http://front.example:{front.port}/")
            assert caught.value.reason == "BadRedirect"
            assert bool(inner.asked) is kept
            # A server of this machine may; and its connection does not serve the stranger.
            assert open_url(transport, f"{neighbour.url}/").read(0, 5) == DATA[:5]


@pytest.mark.parametrize("what", ["token", "storage", "upload"])
def test_a_registry_cannot_send_us_home_by_a_name(settings: Settings, names: dict[str, str], what: str) -> None:
    names |= {"front.example": ELSEWHERE, "inner.example": "127.0.0.1"}

    def front_handler(asked: Asked, client: socket.socket) -> None:
        place = f"http://inner.example:{inner.port}/x"
        if what == "token":
            answer(client, 401, www_authenticate=f'Bearer realm="{place}"')
        elif asked.method == "POST":
            answer(client, 202, location=place)
        else:
            answer(client, 307, location=place)

    with (
        FaultyServer(RangeHandler(DATA)) as inner,
        FaultyServer(front_handler, ELSEWHERE) as front,
        Registry(replace(settings, insecure=frozenset(("front.example", "inner.example")))) as client,
    ):
        reference = Reference.parse(f"front.example:{front.port}/a/b:v1")
        upload = partial(client.push_blob, reference, [DATA], media_type="x")
        read = partial(client.blob(reference, LAYER).read, 0, 10)
        with pytest.raises(ImageFault) as caught:
            (upload if what == "upload" else read)()
        assert caught.value.reason == "BadRedirect"
        assert not inner.asked


@pytest.mark.parametrize("known", [False, True], ids=["stranger", "known"])
@pytest.mark.parametrize("challenge", ['Bearer realm="{}/token"', 'Basic realm="x"'])
@pytest.mark.parametrize("what", ["blob", "manifest", "tag", "presence"])
def test_where_a_registry_sends_us_to_nobody_learns_its_password(
    settings: Settings, tmp_path: Path, what: str, challenge: str, known: bool
) -> None:
    """`known`: the registry itself wants the password as well."""
    basic = f"Basic {base64.b64encode(b'ingot:sesame').decode()}"

    def front_handler(asked: Asked, client: socket.socket) -> None:
        if known and asked.headers.get("authorization") != basic:
            answer(client, 401, www_authenticate='Basic realm="x"')
        elif "/tags/list" in asked.path:
            answer(client, 200, b'{"tags": []}')
        else:
            answer(client, 307, location=f"{storage.url}/x")

    def storage_handler(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/token"):
            answer(client, 200, b'{"token": "x"}')
        else:
            answer(client, 401, www_authenticate=challenge.format(storage.url))

    with FaultyServer(storage_handler) as storage, FaultyServer(front_handler) as front:
        file = tmp_path / "auth.json"
        file.write_text(json.dumps({"auths": {front.host: {"auth": basic.removeprefix("Basic ")}}}))
        with Registry(replace(settings, auth_files=(file,))) as client:
            reference = Reference.parse(f"{front.host}/a/b:v1")
            asking: dict[str, Callable[[], object]] = {
                "blob": partial(client.read, reference, LAYER, len(DATA)),
                "manifest": partial(client.manifest, reference),
                "tag": partial(client.digest, reference),
                "presence": partial(client.present, reference, LAYER.digest),
            }
            # From then on the registry's own challenge is known.
            assert list(client.tags(reference)) == []
            for _ in range(2):
                with pytest.raises(ImageFault, match=f"sends us to {storage.host}, which wants") as caught:
                    asking[what]()
                assert caught.value.reason == "Unauthorized"
        assert len(storage.asked) == 2
        assert not any("authorization" in asked.headers for asked in storage.asked)
