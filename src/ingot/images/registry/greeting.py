"""Whether a server speaks TLS, without a word about whom it is."""

import contextlib
import socket
import ssl

# How an answer of HTTP begins. One of TLS begins with the number of its kind.
_HTTP = b"H"


def answers_plainly(host: str, port: int, seconds: float) -> bool:
    """Whether a server answers the first words of TLS by HTTP, as one does that has no TLS. False where it does not
    answer so in time, for whatever reason."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, greeting = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, greeting, server_hostname=host)
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection:
            connection.sendall(greeting.read())
            return connection.recv(1) == _HTTP
    except OSError:
        return False
