"""A registry of a few documents, true or not: what it answers is what a test has put there."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field

from images.servers.faulty import Asked, answer
from ingot.images.digest import Digest
from ingot.images.registry.manifest import OCI_INDEX, OCI_MANIFEST


@dataclass(slots=True)
class Documents:
    """`answers`: by path, the status, the body and the headers; other paths are not there."""

    answers: dict[str, tuple[int, bytes, dict[str, str]]] = field(default_factory=dict)

    def manifest(self, name: str, target: str, body: bytes, media_type: str = OCI_MANIFEST) -> Digest:
        """Under the tag or digest, and under its own digest."""
        digest = Digest.of(body)
        for each in (target, str(digest)):
            self.answers[f"/v2/{name}/manifests/{each}"] = (200, body, {"content_type": media_type})
        return digest

    def index(self, name: str, target: str, body: bytes) -> Digest:
        return self.manifest(name, target, body, OCI_INDEX)

    def __call__(self, asked: Asked, client: socket.socket) -> None:
        status, body, headers = self.answers.get(asked.path, (404, b"", {}))
        answer(client, status, body, **headers)
