"""Asking a server of this machine whether it is ready, with nothing but the standard library, so that it is quick."""

import http.client
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

_PAUSE = 0.02


def is_ready(directory: Path, address: str, seconds: float = 5.0) -> bool:
    """Whether the server at `address`, proven by the directory's authority, answers /readyz with yes."""
    url = urlsplit(address)
    try:
        context = ssl.create_default_context(cafile=directory / "pki" / "ca.pem")
        context.load_cert_chain(directory / "pki" / "admin.pem")
        connection = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=seconds, context=context)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return False


def wait_ready(directory: Path, address: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_ready(directory, address):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True
