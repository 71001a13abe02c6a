"""Pushing: blobs as a stream of pieces that survives lost connections, and manifests."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote, urljoin

from ingot.images.blob import Bytes
from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.manifest import Descriptor
from ingot.images.registry.refusal import refusal
from ingot.images.registry.repository import Repository
from ingot.images.registry.response import Response
from ingot.images.registry.retry import Backoff

Progress = Callable[[int, int], None]

PIECE = 8 << 20
_MOST_PIECE = 64 << 20
# A registry may read the whole blob again before it says that it has it.
_COMMIT_SECONDS = 900.0
_RANGE = re.compile(r"(?:bytes=)?0-(\d{1,19})")
_OCTETS = {"Content-Type": "application/octet-stream"}


def has_blob(repository: Repository, digest: Digest, subject: str) -> int | None:
    """The size of a blob that is there; None for one that is not. Raises ImageFault."""
    response = repository.endpoint.send("HEAD", f"{repository.name}/blobs/{digest}", repository.scope(), subject)
    if response.status == 404:
        response.discard()
        return None
    if response.status != 200:
        raise refusal(response)
    stated = response.headers.get("Content-Length", "")
    response.discard()
    return int(stated) if stated.isascii() and stated.isdigit() else 0


def mount(repository: Repository, digest: Digest, source: str, subject: str) -> bool:
    """Whether the registry has taken the blob over from its other repository `source`. Raises ImageFault."""
    path = f"{repository.name}/blobs/uploads/?mount={quote(str(digest))}&from={quote(source, safe='')}"
    response = repository.endpoint.send("POST", path, repository.scope("pull,push", source), subject, body=b"")
    if response.status == 201:
        response.discard()
        return True
    if response.status == 202:
        # The registry began an upload instead, which nobody is going to finish.
        Session(repository, subject, response).cancel()
        return False
    if response.status in (401, 403, 404):
        response.discard()
        return False
    raise refusal(response)


def push_blob(
    repository: Repository,
    source: Iterable[Bytes],
    subject: str,
    *,
    media_type: str,
    digest: Digest | None = None,
    progress: Progress | None = None,
    total: int = 0,
) -> Descriptor:
    """Sends what `source` gives. Its digest is found on the way; one that is given must be it.

    Nothing is in the registry before the last byte is, and after a fault nothing is left there. Raises ImageFault.
    """
    session = Session(repository, subject)
    hasher = hashlib.sha256()
    try:
        for piece in _pieces(source, session.piece):
            hasher.update(piece)
            session.send(piece)
            if progress:
                progress(session.sent, total)
        found = Digest("sha256", hasher.hexdigest())
        if digest and digest != found:
            raise ImageFault(subject, "WrongDigest", f"what is pushed is {found}, and not {digest}, which it should be")
        session.commit(found)
    except BaseException:
        session.cancel()
        raise
    return Descriptor(media_type=media_type, digest=found, size=session.sent)


def _pieces(source: Iterable[Bytes], size: int) -> Iterator[memoryview]:
    """The same bytes in pieces of one size. A piece lasts until the next is asked for."""
    buffer = memoryview(bytearray(size))
    filled = 0
    for data in source:
        view = memoryview(data).cast("B")
        while len(view):
            count = min(len(view), size - filled)
            buffer[filled : filled + count] = view[:count]
            filled += count
            view = view[count:]
            if filled == size:
                yield buffer
                filled = 0
    if filled:
        yield buffer[:filled]


class Session:
    """One upload. `sent` bytes are with the registry."""

    def __init__(self, repository: Repository, subject: str, begun: Response | None = None) -> None:
        """Begins an upload. Raises ImageFault."""
        self._repository = repository
        self._scope = repository.scope("pull,push")
        self._subject = subject
        self.sent = 0
        self._url = ""
        response = begun or repository.endpoint.send(
            "POST", f"{repository.name}/blobs/uploads/", self._scope, subject, body=b""
        )
        if response.status != 202:
            raise refusal(response)
        least = response.headers.get("OCI-Chunk-Min-Length", "")
        self.piece = max(PIECE, min(int(least), _MOST_PIECE)) if least.isascii() and least.isdigit() else PIECE
        self._follow(response)
        response.discard()

    def send(self, piece: memoryview) -> None:
        """Adds a piece; after a lost connection from where the registry got to. Raises ImageFault."""
        backoff = Backoff(self._repository.endpoint.transport.settings)
        start = self.sent
        while self.sent < start + len(piece):
            before = self.sent
            try:
                self._patch(piece[self.sent - start :])
                self.sent = start + len(piece)
            except ImageFault as fault:
                backoff.wait(fault)
                self.sent = self._received(start, start + len(piece))
                if self.sent > before:
                    backoff.progress()

    def _patch(self, data: memoryview) -> None:
        headers = _OCTETS | {
            "Content-Length": str(len(data)),
            "Content-Range": f"{self.sent}-{self.sent + len(data) - 1}",
        }
        transport = self._repository.endpoint.transport
        response = self._repository.endpoint.send(
            "PATCH", self._url, self._scope, self._subject, headers, data, send=transport.once
        )
        if response.status not in (202, 204):
            raise refusal(response)
        self._follow(response)
        response.discard()

    def _received(self, start: int, end: int) -> int:
        """How far the registry got. Raises ImageFault where it has lost what it had, or has more than was sent."""
        response = self._repository.endpoint.send("GET", self._url, self._scope, self._subject)
        if response.status != 204:
            raise refusal(response)
        match = _RANGE.fullmatch(response.headers.get("Range", ""))
        # `0-0` is said for nothing and for one byte.
        there = int(match[1]) + 1 if match and int(match[1]) else 0
        self._follow(response)
        response.discard()
        if not start <= there <= end:
            raise ImageFault(
                self._subject,
                "UploadLost",
                f"its registry has {there} bytes of an upload that stood at {start}",
                retry=True,
            )
        return there

    def commit(self, digest: Digest) -> None:
        """Makes the bytes the blob of that digest. Raises ImageFault."""
        url = f"{self._url}{'&' if '?' in self._url else '?'}digest={quote(str(digest))}"
        headers = _OCTETS | {"Content-Length": "0"}
        response = self._repository.endpoint.send(
            "PUT", url, self._scope, self._subject, headers, b"", patience=_COMMIT_SECONDS
        )
        if response.status == 404 and has_blob(self._repository, digest, self._subject) is not None:
            # An earlier try was heard, and only its answer was lost.
            response.discard()
            return
        if response.status not in (201, 204):
            raise refusal(response)
        response.discard()

    def cancel(self) -> None:
        """Has the registry forget the upload, if it listens; it will by itself some day."""
        transport = self._repository.endpoint.transport
        try:
            self._repository.endpoint.send(
                "DELETE", self._url, self._scope, self._subject, send=transport.once
            ).discard()
        except ImageFault:
            return

    def _follow(self, response: Response) -> None:
        location = response.headers.get("Location", "")
        if location:
            try:
                self._url = urljoin(response.url, location)
            except ValueError:
                location = ""
        if not location and not self._url:
            response.discard()
            raise ImageFault(self._subject, "BadAnswer", "its registry does not say where to send an upload")


def push_manifest(repository: Repository, target: str, raw: bytes, media_type: str, subject: str) -> bool:
    """Puts a manifest under a tag or its digest. Whether the registry knows what a `subject` is. Raises ImageFault."""
    response = repository.endpoint.send(
        "PUT",
        f"{repository.name}/manifests/{target}",
        repository.scope("pull,push"),
        subject,
        {"Content-Type": media_type},
        raw,
    )
    if response.status not in (200, 201, 202):
        raise refusal(response)
    understood = bool(response.headers.get("OCI-Subject"))
    response.discard()
    return understood


def delete_manifest(repository: Repository, digest: Digest, subject: str) -> None:
    """Raises ImageFault."""
    response = repository.endpoint.send(
        "DELETE", f"{repository.name}/manifests/{digest}", repository.scope("delete"), subject
    )
    if response.status not in (200, 202, 204):
        raise refusal(response)
    response.discard()
