"""Uploads over slow lines, and to servers that take nothing."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from guest.servers.certificates import Certificates
from images.servers.faulty import answer
from ingot.images.fault import ImageFault
from ingot.images.registry.settings import Settings
from ingot.images.registry.transport import Request, Transport


@pytest.mark.parametrize("tls", [False, True])
def test_a_slow_line_is_no_fault(settings: Settings, certificates: Certificates, tmp_path: Path, tls: bool) -> None:
    """A body may take many times what a server may be silent for."""
    size, rate, patience = 5 << 20, 4 << 20, 0.4
    taken = 0

    def take() -> None:
        nonlocal taken
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) if tls else plain as client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(1)
            while taken < size and (data := client.recv(1 << 16)):
                taken += len(data)
                time.sleep(len(data) / rate)
            answer(client, 201)

    certificates.write_server(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server-cert.pem", tmp_path / "server-key.pem")
    with socket.socket() as listener, ThreadPoolExecutor() as threads:
        # The server's machine must not take all of it at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        done = threads.submit(take)
        transport = Transport(replace(settings, patience=patience, tries=1, ca=tmp_path / "ca-cert.pem"))
        url = f"{'https' if tls else 'http'}://127.0.0.1:{listener.getsockname()[1]}/"
        with contextlib.closing(transport):
            assert transport.once(Request("PUT", url, "x", body=bytes(size))).status == 201
        done.result(5)
        assert taken == size


def test_a_server_that_takes_nothing_is_given_up(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        transport = Transport(replace(settings, patience=0.3, tries=1))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        for size in (100, 64 << 20):
            with pytest.raises(ImageFault) as caught:
                transport.once(Request("PUT", url, "x", body=bytes(size)))
            assert caught.value.reason == "TooSlow"


def test_a_line_that_has_served_a_patient_client_is_no_more_patient_with_the_next(settings: Settings) -> None:
    def take() -> socket.socket:
        client, _ = listener.accept()
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        answer(client, 200)
        return client

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor() as threads:
        taken = threads.submit(take)
        patient = Transport(replace(settings, patience=3.0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        patient.once(Request("GET", url, "x")).discard()
        began = time.monotonic()
        with taken.result(5), pytest.raises(ImageFault) as caught:
            patient.hasty(0.1).once(Request("PUT", url, "x", body=bytes(64 << 20)))
        assert caught.value.reason == "TooSlow"
        assert time.monotonic() - began < 2.0
