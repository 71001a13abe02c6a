"""Thousands of crons and a registry that is down: it is knocked at now and then, and whoever asks in person is answered
(G3)."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
from types import SimpleNamespace
from typing import cast

import pytest

from eventual import eventually
from images.servers.faulty import Asked, FaultyServer, answer
from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.api.resources import DATA_IMPORT_CRONS
from ingot.control.golden import asking as module
from ingot.control.golden.asking import ASKED_AT_ONCE, Asker
from ingot.control.golden.polls import Polls, answered
from ingot.images.fault import ImageFault
from ingot.images.registry import pool
from ingot.images.registry.client import Registry
from ingot.images.registry.settings import Settings
from ingot.kube.cache import Key, key_of
from ingot.kube.client import Client
from ingot.kube.clock import ManualClock
from ingot.kube.manager import Manager


def cron(host: str, number: int, *, namespace: str = "golden", web: bool = False, **annotations: str) -> Object:
    source = {"registry": {"url": f"docker://{host}/disks/{number}:latest"}}
    if web:
        source = {"http": {"url": f"http://{host}/{number}.qcow2"}}
    notes = {getattr(names, key): text for key, text in annotations.items()}
    return {
        "metadata": {"name": f"cron-{number}", "namespace": namespace, "uid": f"{number}", "annotations": notes},
        "spec": {"schedule": "@daily", "managedDataSource": f"{number}", "template": {"spec": {"source": source}}},
    }


async def refused(asker: Asker, asking: Object) -> ImageFault:
    with pytest.raises(ImageFault) as told:
        await asker.newest(asking)
    return told.value


async def test_a_registry_that_is_down_is_asked_by_one_cron_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.images.registry.retry.time", SimpleNamespace(sleep=lambda seconds: None))

    def gone(_asked: Asked, client: socket.socket) -> None:
        client.shutdown(socket.SHUT_RDWR)

    clock = ManualClock()
    # Who names no Secret needs no API server.
    asker = Asker(cast("Client", None), clock)
    with FaultyServer(gone) as server:
        first = await refused(asker, cron(server.host, 0))
        asked = len(server.asked)
        assert asked >= 1
        for number in range(1, 2000):
            fault = await refused(asker, cron(server.host, number))
            # What others follow is nobody's business.
            assert (fault.subject, fault.message) == (server.host, first.message)
        assert len(server.asked) == asked
        await refused(asker, cron(server.host, 1, CHECK_NOW="now"))
        assert len(server.asked) > asked
        asked = len(server.asked)
        await clock.advance(31)
        await refused(asker, cron(server.host, 2))
        assert len(server.asked) > asked


@pytest.mark.parametrize("web", [True, False])
@pytest.mark.parametrize("status", [500, 503])
async def test_one_bad_file_keeps_nobody_from_the_others_of_its_server(web: bool, status: int) -> None:
    def broken(asked: Asked, client: socket.socket) -> None:
        answer(client, status if asked.path.startswith(("/1.qcow2", "/v2/disks/1/")) else 404)

    asker = Asker(cast("Client", None), ManualClock())
    with FaultyServer(broken) as server:
        first = await refused(asker, cron(server.host, 1, web=web))
        assert first.reason != "NotFound"
        asked = len(server.asked)
        # It is asked for by one cron for all, all the same.
        assert (await refused(asker, cron(server.host, 1, web=web))).message == first.message
        assert len(server.asked) == asked
        assert (await refused(asker, cron(server.host, 0, web=web))).reason == "NotFound"


@pytest.mark.parametrize("web", [True, False])
async def test_a_server_that_is_asked_too_often_is_left_alone_by_all(web: bool) -> None:
    def limiting(_asked: Asked, client: socket.socket) -> None:
        answer(client, 429)

    clock = ManualClock()
    asker = Asker(cast("Client", None), clock)
    with FaultyServer(limiting) as server:
        first = await refused(asker, cron(server.host, 1, web=web))
        asked = len(server.asked)
        assert (await refused(asker, cron(server.host, 0, web=web))).message == first.message
        assert len(server.asked) == asked
        await refused(asker, cron(server.host, 0, namespace="stranger", web=web))
        assert len(server.asked) > asked


async def test_what_one_asks_in_vain_keeps_nobody_else_from_a_server() -> None:
    def busy(asked: Asked, client: socket.socket) -> None:
        answer(client, 503 if asked.path.startswith("/v2/disks/1/") else 404)

    asker = Asker(cast("Client", None), ManualClock())
    with FaultyServer(busy) as server, socket.create_server(("127.0.0.1", 0)) as other:
        closed = f"{server.host.partition(':')[0]}:{other.getsockname()[1]}"
        other.close()
        # Nothing listens on another port of the same host.
        assert (await refused(asker, cron(closed, 0, web=True))).reason == "Unreachable"
        assert (await refused(asker, cron(server.host, 0, web=True))).reason == "NotFound"
        await refused(asker, cron(server.host, 1, namespace="stranger"))
        assert (await refused(asker, cron(server.host, 0))).reason == "NotFound"


async def test_slow_sources_of_several_namespaces_leave_room_for_others() -> None:
    def silent(_asked: Asked, _client: socket.socket) -> None:
        slow.stopping.wait()

    manager = Manager(cast("Client", None))
    polls = Polls(manager)
    with FaultyServer(lambda _asked, client: answer(client, 404)) as quick, FaultyServer(silent) as slow:
        places = ("one", "two", "three")
        strangers = [cron(slow.host, number, namespace=each) for each in places for number in range(ASKED_AT_ONCE)]
        for each in (*strangers, cron(quick.host, 0)):
            manager.informer(DATA_IMPORT_CRONS).cache.put(key_of(each), each)
        asking = [asyncio.ensure_future(polls.reconcile(key_of(each))) for each in strangers]
        asking.append(asyncio.ensure_future(polls.reconcile(Key("golden", "cron-0"))))

        async def both() -> bool:
            return bool(slow.asked and quick.asked)

        await eventually(both, 8)
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
    # Each that has ended has called one that waited.
    assert manager.waiting() == {"dataimportcron-poll": len(places) * ASKED_AT_ONCE // 4}


async def test_a_release_that_was_pushed_anew_is_found_by_who_asks_or_cannot_import_it() -> None:
    known, anew = (f"sha256:{letter * 64}" for letter in "ab")

    def registry(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/v2/disks/tags/"):
            answer(client, 200, b'{"tags":["1.0.0"]}')
        else:
            answer(client, 200, docker_content_digest=anew, content_type="application/vnd.oci.image.manifest.v1+json")

    asker = Asker(cast("Client", None), ManualClock())
    with FaultyServer(registry) as server:
        asking = cron(server.host, 0, DESIRED_DIGEST=known, NEWEST_VERSION="1.0.0")
        asking["spec"]["template"]["spec"]["source"]["registry"]["url"] = f"docker://{server.host}/disks"
        assert (await asker.newest(asking)).digest == known
        asking["metadata"]["annotations"][names.CHECK_NOW] = "now"
        assert (await asker.newest(asking)).digest == anew
        asking["metadata"]["annotations"][names.CHECKED] = "now"
        assert (await asker.newest(asking)).digest == known
        failed = {"type": "UpToDate", "status": "False", "reason": "ImportFailed"}
        assert (await asker.newest(asking | {"status": {"conditions": [failed]}})).digest == anew


async def test_registries_that_the_cluster_trusts_are_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Settings] = []

    def look(settings: Settings, *_: object) -> Registry:
        asked.append(settings)
        raise ImageFault("near:5000", "Unreachable", "it is not asked here")

    monkeypatch.setattr("ingot.control.golden.asking.Registry", look)
    asker = Asker(cast("Client", None), ManualClock(), lambda: frozenset({"near:5000"}))
    for number, host in enumerate(("near:5000", "far:5000")):
        await refused(asker, cron(host, number, namespace=host.partition(":")[0]))
    assert [each.verify for each in asked] == [False, True]
    assert ["near:5000" in each.insecure for each in asked] == [True, False]


async def test_a_file_on_several_servers_is_one_version_until_somebody_asks() -> None:
    tags = iter("abcd")

    def mirrors(_asked: Asked, client: socket.socket) -> None:
        date = "Wed, 21 Oct 2026 07:28:00 GMT"
        answer(client, 200, etag=f'"{next(tags)}"', last_modified=date, content_length="4")

    with FaultyServer(mirrors) as server:
        asking = cron(server.host, 0, web=True)

        async def look() -> str:
            told = answered(asking, await Asker(cast("Client", None)).newest(asking), 0.0)
            asking["metadata"]["annotations"] = {key: text for key, text in told.items() if text is not None}
            return str(told[names.DESIRED_DIGEST])

        first = await look()
        assert await look() == first
        asking["metadata"]["annotations"][names.CHECK_NOW] = "now"
        assert await look() != first


async def test_without_a_tag_and_a_release_looks_take_turns_with_one_request_each() -> None:
    tags = ["latest"]

    def registry(asked: Asked, client: socket.socket) -> None:
        if asked.path.startswith("/v2/disks/tags/"):
            answer(client, 200, json.dumps({"tags": tags}).encode())
        else:
            answer(client, 200, docker_content_digest=f"sha256:{'a' * 64}")

    with FaultyServer(registry) as server:
        asking = cron(server.host, 0)
        asking["spec"]["template"]["spec"]["source"]["registry"]["url"] = f"docker://{server.host}/disks"

        async def look() -> list[str]:
            """What was asked for. Whoever looks next has been started anew, and knows what is on the cron."""
            before = len(server.asked)
            told = answered(asking, await Asker(cast("Client", None)).newest(asking), 0.0)
            asking["metadata"]["annotations"] = {key: text for key, text in told.items() if text is not None}
            return [asked.path for asked in server.asked[before:] if asked.path != "/v2/"]

        listing, head = "/v2/disks/tags/list?n=1000", "/v2/disks/manifests/latest"
        assert [await look() for _ in range(5)] == [[listing, head], [head], [listing], [head], [listing]]
        tags.append("1.0.0")
        assert [await look() for _ in range(3)] == [[head], [listing, "/v2/disks/manifests/1.0.0"], [listing]]


@pytest.mark.parametrize("web", [False, True])
async def test_a_host_that_cannot_be_is_told(web: bool) -> None:
    asker = Asker(cast("Client", None), ManualClock())
    fault = await refused(asker, cron(f"{'a' * 70}.example", 0, web=web))
    assert (fault.reason, fault.retry) == ("BadAddress", False)
    assert "1 to 63 characters" in fault.message

    def strange(_asked: Asked, client: socket.socket) -> None:
        answer(client, 302, location=f"http://{'a' * 70}.example/")

    with FaultyServer(strange) as server:
        assert (await refused(asker, cron(server.host, 0, web=web))).reason == "BadAddress"


async def test_what_nobody_has_thought_of_is_told_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("nobody's business")

    monkeypatch.setattr(module, "newest_file", broken)
    with caplog.at_level(logging.ERROR):
        fault = await refused(Asker(cast("Client", None)), cron("127.0.0.1:1", 0, web=True))
    assert fault.subject == "http://127.0.0.1:1/0.qcow2"
    assert "ZeroDivisionError" in fault.message
    assert "nobody's business" not in str(fault)
    (record,) = caplog.records
    assert "golden/cron-0" in record.message
    assert record.exc_info


async def test_a_secret_that_is_no_base64_is_told() -> None:
    async def get(*_: object) -> Object:
        return {"data": {"accessKeyId": "é", "secretKey": "é"}}

    asking = cron("127.0.0.1:1", 0)
    asking["spec"]["template"]["spec"]["source"]["registry"]["secretRef"] = "login"
    fault = await refused(Asker(cast("Client", SimpleNamespace(get=get))), asking)
    assert (fault.subject, fault.reason) == ('Secret "login"', "BadSecret")


async def test_a_look_costs_one_request_though_more_ask_with_secrets_of_their_own_than_clients_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def registry(asked: Asked, client: socket.socket) -> None:
        if asked.headers.get("authorization"):
            answer(client, 200, docker_content_digest=f"sha256:{'a' * 64}")
        else:
            answer(client, 401, www_authenticate='Basic realm="disks"')

    async def get(_resource: object, _name: str, namespace: str) -> Object:
        given = {"accessKeyId": namespace, "secretKey": "word"}
        return {"data": {key: base64.b64encode(text.encode()).decode() for key, text in given.items()}}

    monkeypatch.setattr(module, "_KEPT", 2)
    asker = Asker(cast("Client", SimpleNamespace(get=get)), ManualClock())
    with FaultyServer(registry) as server:
        for looks in range(3):
            before = len(server.asked)
            for namespace in ("a", "b", "c"):
                asking = cron(server.host, 0, namespace=namespace)
                asking["spec"]["template"]["spec"]["source"]["registry"]["secretRef"] = "login"
                await asker.newest(asking)
            # The first of all learns what the registry wants.
            assert len(server.asked) - before == 3 + (looks == 0)
        users = {asked.headers.get("authorization") for asked in server.asked}
        assert len(users - {None}) == 3


async def test_connections_of_one_way_to_ask_are_closed_while_others_are_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, heard = [1000.0], []
    monkeypatch.setattr(pool, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def found(_asked: Asked, client: socket.socket) -> None:
        answer(client, 200, docker_content_digest=f"sha256:{'a' * 64}")
        heard.append(client.dup())

    asker = Asker(cast("Client", None))
    with FaultyServer(found) as server:
        await asker.newest(cron(server.host, 0))
        await asker.newest(cron(server.host, 0))
        peer = heard[-1]
        now[0] += 51
        trusting = cron(server.host, 1)
        trusting["spec"]["template"]["spec"]["source"]["registry"]["insecureSkipVerify"] = True
        await asker.newest(trusting)
        peer.settimeout(5.0)
        assert peer.recv(1) == b""
        for each in heard:
            each.close()
