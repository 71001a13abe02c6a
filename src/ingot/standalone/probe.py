"""Asking a server of this machine whether it is ready, with nothing but the standard library, so that it is quick."""

import http.client
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

_PAUSE = 0.02


def is_ready(directory: Path, address: str, seconds: float = 5.0) -> bool:
    """Whether the server at `address`, proven by the directory's authority, answers /readyz with yes."""
    return ask(directory, address, "/readyz", seconds) is not None


def ask(directory: Path, address: str, path: str, seconds: float = 5.0) -> bytes | None:
    """What the server answers to a GET by the administrator; None when it is not a success."""
    url = urlsplit(address)
    try:
        context = ssl.create_default_context(cafile=directory / "pki" / "ca.pem")
        context.load_cert_chain(directory / "pki" / "admin.pem")
        connection = http.client.HTTPSConnection(url.hostname or "", url.port, timeout=seconds, context=context)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read()
            return content if answer.status == 200 else None
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return None


def wait_ready(directory: Path, address: str, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not is_ready(directory, address):
        if time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE)
    return True
