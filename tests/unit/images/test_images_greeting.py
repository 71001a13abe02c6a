"""Whether a server speaks TLS, by its answer to the first words."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ingot.images.registry.greeting import answers_plainly


@contextmanager
def _answering(answer: bytes) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client:
                assert client.recv(4096)[:1] == b"\x16"
                client.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
        (b"<!DOCTYPE HTML>", True),
        (b"\x16\x03\x03\x00\x04", False),
        (b"\x15\x03\x03", False),
        (b"", False),
    ],
)
def test_the_first_byte_tells(answer: bytes, plain: bool) -> None:
    with _answering(answer) as port:
        assert answers_plainly("127.0.0.1", port, 5.0) is plain


def test_nobody_there_is_no_plain_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert not answers_plainly("127.0.0.1", port, 5.0)
