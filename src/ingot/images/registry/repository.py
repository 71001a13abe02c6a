"""A repository at one registry or mirror: manifests and blobs by digest."""

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.http_blob import HttpBlob
from ingot.images.registry.address import split
from ingot.images.registry.auth import Scope
from ingot.images.registry.endpoint import Endpoint
from ingot.images.registry.manifest import INDEXES, MANIFESTS, MOST_BYTES, Descriptor, Index, Manifest, decode
from ingot.images.registry.refusal import refusal
from ingot.images.registry.response import Response
from ingot.images.registry.retry import persist
from ingot.images.registry.transport import Request

ACCEPT = ", ".join((*MANIFESTS, *INDEXES))


@dataclass(frozen=True, slots=True)
class Document:
    """A manifest or index as it came: `raw` has the `digest`."""

    digest: Digest
    media_type: str
    raw: bytes
    parsed: Manifest | Index


@dataclass(frozen=True, slots=True)
class Repository:
    endpoint: Endpoint
    name: str

    def scope(self, actions: str = "pull", also: str = "") -> Scope:
        return Scope(self.endpoint.registry, self.name, actions, also)

    def manifest(self, target: str, subject: str) -> Document:
        """By digest, which is checked, or by tag. Raises ImageFault."""
        path = f"{self.name}/manifests/{target}"
        response, raw = self.endpoint.document(path, self.scope(), subject, MOST_BYTES, {"Accept": ACCEPT})
        if response.status != 200:
            raise refusal(response)
        media_type = response.headers.get("Content-Type", "")
        digest = Digest.parse(target) if ":" in target else _stated(response) or Digest.of(raw)
        digest.check(raw, subject)
        return Document(digest, media_type, raw, decode(raw, media_type, subject))

    def digest(self, target: str, subject: str) -> Digest:
        """What a tag stands for at present. Raises ImageFault."""
        response = self.endpoint.send(
            "HEAD", f"{self.name}/manifests/{target}", self.scope(), subject, {"Accept": ACCEPT}
        )
        if response.status != 200:
            raise refusal(response)
        response.discard()
        return _stated(response) or self.manifest(target, subject).digest

    def put(self, target: str, raw: bytes, media_type: str, subject: str) -> bool:
        """Puts a manifest under a tag or digest. Whether the registry knows what a `subject` is. Raises ImageFault."""
        path, scope = f"{self.name}/manifests/{target}", self.scope("pull,push")
        response = self.endpoint.send("PUT", path, scope, subject, {"Content-Type": media_type}, raw)
        if response.status not in (200, 201, 202):
            raise refusal(response)
        response.discard()
        return bool(response.headers.get("OCI-Subject"))

    def delete(self, digest: Digest, subject: str) -> None:
        """Deletes a manifest, with all its tags. Raises ImageFault."""
        self._delete(str(digest), subject)

    def untag(self, tag: str, subject: str) -> bool:
        """Whether the registry can delete a tag alone, and has done so. Raises ImageFault."""
        return self._delete(tag, subject, unable=(400, 405))

    def _delete(self, target: str, subject: str, unable: tuple[int, ...] = ()) -> bool:
        """Whether it is gone; False where the registry answers one of `unable`. Raises ImageFault."""
        # Has its tries of its own.
        self.endpoint.base(subject)
        transport = self.endpoint.transport
        lost = False

        def send(request: Request) -> Response:
            nonlocal lost
            try:
                return transport.once(request)
            except ImageFault:
                lost = True
                raise

        path, scope = f"{self.name}/manifests/{target}", self.scope("delete")
        response = persist(transport.settings, lambda: self.endpoint.send("DELETE", path, scope, subject, send=send))
        # An earlier try may have been heard, and only its answer was lost.
        gone = response.status in (200, 202, 204) or (lost and response.status == 404)
        if not gone and response.status not in unable:
            raise refusal(response)
        response.discard()
        return gone

    def size(self, digest: Digest, subject: str) -> int | None:
        """The size of a blob that is there; None for one that is not. Raises ImageFault."""
        response = self.endpoint.send("HEAD", f"{self.name}/blobs/{digest}", self.scope(), subject)
        if response.status not in (200, 404):
            raise refusal(response)
        response.discard()
        if response.status == 404:
            return None
        stated = response.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,18}", stated):
            raise ImageFault(subject, "NoLength", f"its registry has {digest}, and does not say how long it is")
        return int(stated)

    def blob(self, descriptor: Descriptor, subject: str) -> HttpBlob:
        fetch = _BlobFetch(self, descriptor.digest, subject)
        settings = self.endpoint.transport.settings
        return HttpBlob(fetch, subject, descriptor.size, settings, fixed=True)

    def read(self, descriptor: Descriptor, subject: str) -> bytes:
        """All of a small blob, its digest checked. Raises ImageFault."""
        data = bytearray(descriptor.size)
        with self.blob(descriptor, subject).stream() as stream:
            view = memoryview(data)
            while count := stream.readinto(view):
                view = view[count:]
        descriptor.digest.check(data, subject)
        return bytes(data)


class _BlobFetch:
    """Requests for a blob. Where the registry sends us to a storage, later requests go straight there, for as long as
    that takes them."""

    def __init__(self, repository: Repository, digest: Digest, subject: str) -> None:
        self._repository = repository
        self._digest = digest
        self._subject = subject
        self._storage = ""
        self._lock = threading.Lock()

    def __call__(self, headers: Mapping[str, str]) -> Response:
        transport = self._repository.endpoint.transport
        own, _ = split(self._repository.endpoint.base(self._subject), self._subject)
        with self._lock:
            storage = self._storage
        if storage:
            response = transport.once(Request("GET", storage, self._subject, headers, came=own))
            if response.status in (200, 206, 416):
                return response
            response.discard()
            self._remember("")
        response = self._repository.endpoint.send(
            "GET",
            f"{self._repository.name}/blobs/{self._digest}",
            self._repository.scope(),
            self._subject,
            headers,
            send=transport.once,
        )
        if split(response.url, self._subject)[0] != own:
            self._remember(response.url)
        return response

    def _remember(self, storage: str) -> None:
        with self._lock:
            self._storage = storage


def _stated(response: Response) -> Digest | None:
    text = response.headers.get("Docker-Content-Digest", "")
    try:
        return Digest.parse(text) if text else None
    except ImageFault:
        raise ImageFault(
            response.subject, "BadDigest", f"its registry calls it {text[:80]!r}, which is no digest"
        ) from None
