"""Whether a server speaks TLS, without a word about whom it is."""

import contextlib
import socket
import ssl

# An answer of TLS begins with the number of its kind: an alert, or a handshake. Others have words of their own for what
# is no HTTP, and some only end the connection.
_TLS = (b"\x15", b"\x16")


def answers_plainly(host: str, port: int, seconds: float) -> bool:
    """Whether a server answers the first words of TLS by something else, as one does that has none. False where it does
    not answer so in time, for whatever reason."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    incoming, greeting = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, greeting, server_hostname=host)
    with contextlib.suppress(ssl.SSLWantReadError):
        session.do_handshake()
    try:
        with socket.create_connection((host, port), timeout=seconds) as connection:
            connection.sendall(greeting.read())
            return connection.recv(1) not in (b"", *_TLS)
    except OSError:
        return False
