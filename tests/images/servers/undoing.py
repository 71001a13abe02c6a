"""A registry in which others put back what was under a tag before, as they do who had read that already."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

from images.servers.faulty import Asked, FaultyServer, PassingHandler
from ingot.images.reference import Reference
from ingot.images.registry.manifest import OCI_INDEX


@contextmanager
def undoing(reference: Reference, tag: str, times: int) -> Iterator[Reference]:
    """The same repository by a way on which an index that is put under `tag` is undone, so many times."""
    path = f"/v2/{reference.repository}/manifests/{tag}"
    left = times

    def ask(method: str, body: bytes | None = None) -> bytes:
        connection = http.client.HTTPConnection(reference.registry)
        connection.request(method, path, body, {"Content-Type" if body else "Accept": OCI_INDEX})
        found = connection.getresponse()
        assert found.status < 300
        try:
            return found.read()
        finally:
            connection.close()

    before = ask("GET")

    def undo(asked: Asked) -> None:
        nonlocal left
        if asked.method == "PUT" and asked.path == path and left:
            left -= 1
            ask("PUT", before)

    with FaultyServer(PassingHandler(reference.registry, after=undo)) as server:
        yield Reference.parse(f"{server.host}/{reference.repository}:{reference.tag}")
