"""Progress of a worker, as a controller asks for it."""

import http.client
import json
import socket
import time

import pytest

from ingot.cli.worker.progress import Progress, ProgressServer


def test_the_rate_is_that_of_the_last_seconds() -> None:
    now = [100.0]
    progress = Progress(lambda: now[0])
    for second in range(20):
        progress(second * 10, 1000)
        now[0] += 1
    for second in range(10):
        progress(190 + (second + 1) * 50, 1000)
        now[0] += 1
    told = progress.document()
    assert (told["done"], told["total"]) == (690, 1000)
    assert 35 <= told["rate"] <= 50


def test_what_stands_still_has_no_rate() -> None:
    now = [100.0]
    progress = Progress(lambda: now[0])
    progress(500, 1000)
    now[0] += 1
    progress(600, 1000)
    assert progress.document()["rate"] == 100
    now[0] += 60
    assert progress.document() == {"done": 600, "total": 1000, "rate": 0}


def test_what_was_refused_is_not_done() -> None:
    progress = Progress()
    progress(5, 10)
    progress.refuse("bad " * 1000)
    told = progress.document()
    assert (told["done"], told["total"], told["rate"]) == (0, 0, 0)
    assert str(told["refused"]).startswith("bad")
    assert len(str(told["refused"])) <= 800
    progress(1, 10)
    assert "refused" not in progress.document()


def test_before_the_first_byte() -> None:
    assert Progress().document() == {"done": 0, "total": 0, "rate": 0}


def test_it_answers_progress_and_nothing_else() -> None:
    progress = Progress()
    progress(5, 10)
    with ProgressServer(progress, "127.0.0.1", 0) as server:
        status, body = _ask(server.port, "GET", "/progress")
        assert (status, json.loads(body)) == (200, {"done": 5, "total": 10, "rate": 0})
        progress(7, 10)
        assert json.loads(_ask(server.port, "GET", "/progress")[1])["done"] == 7
        assert _ask(server.port, "GET", "/")[0] == 404
        assert _ask(server.port, "POST", "/progress")[0] == 404
    with pytest.raises(ConnectionRefusedError):
        _ask(server.port, "GET", "/progress")


@pytest.mark.parametrize("words", [b"", b"GET /progress HTTP/1.1\r\n", b"x" * 99_000, b"\r\n\r\n", b"\xff\r\n\r\n"])
def test_a_bad_client_holds_nobody_up_for_long(words: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingot.cli.worker.progress._SECONDS", 0.2)
    server = ProgressServer(Progress(), "127.0.0.1", 0)
    with server, socket.create_connection(("127.0.0.1", server.port)) as bad:
        bad.sendall(words)
        began = time.monotonic()
        assert _ask(server.port, "GET", "/progress")[0] == 200
        assert time.monotonic() - began < 5


def test_an_address_that_is_taken_is_an_error() -> None:
    with ProgressServer(Progress(), "127.0.0.1", 0) as server, pytest.raises(OSError, match="in use"):
        ProgressServer(Progress(), "127.0.0.1", server.port)


def _ask(port: int, method: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
