"""An upload: pieces of a blob on their way into a registry, over as many connections as it takes."""

import re
from urllib.parse import quote, urljoin

from ingot.images.digest import Digest
from ingot.images.fault import ImageFault
from ingot.images.registry.refusal import refusal
from ingot.images.registry.repository import Repository
from ingot.images.registry.response import Response
from ingot.images.registry.retry import Backoff

_PIECE = 16 << 20
_MOST_PIECE = 64 << 20
# A registry may read the whole blob again before it says that it has it.
_COMMIT_SECONDS = 900.0
_RANGE = re.compile(r"(?:bytes=)?0-(\d{1,19})")
# What a registry says to a piece of an upload that it does not know, or that stands elsewhere.
_FORGOTTEN = frozenset((400, 404, 416))
_OCTETS = {"Content-Type": "application/octet-stream"}


class UploadLost(ImageFault):
    """An upload that cannot go on; another one from the start may succeed."""

    def __init__(self, subject: str, message: str) -> None:
        super().__init__(subject, "UploadLost", message, retry=True)


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
        least = re.fullmatch("[0-9]{1,9}", response.headers.get("OCI-Chunk-Min-Length", ""))
        self.piece = max(_PIECE, min(int(least[0]), _MOST_PIECE)) if least else _PIECE
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
        if response.status in _FORGOTTEN:
            response.discard()
            raise UploadLost(self._subject, "its registry does not go on with an upload")
        if response.status not in (202, 204):
            raise refusal(response)
        self._follow(response)
        response.discard()

    def _received(self, start: int, end: int) -> int:
        """How far the registry got. Raises ImageFault where it has lost what it had, or has more than was sent."""
        response = self._repository.endpoint.send("GET", self._url, self._scope, self._subject)
        if response.status in _FORGOTTEN:
            response.discard()
            raise UploadLost(self._subject, "its registry has forgotten an upload after a lost connection")
        if response.status != 204:
            raise refusal(response)
        match = _RANGE.fullmatch(response.headers.get("Range", ""))
        # `0-0` is said for nothing and for one byte.
        there = int(match[1]) + 1 if match and int(match[1]) else 0
        self._follow(response)
        response.discard()
        if not start <= there <= end:
            raise UploadLost(self._subject, f"its registry has {there} bytes of an upload that stood at {start}")
        return there

    def commit(self, digest: Digest) -> None:
        """Makes the bytes the blob of that digest. Raises ImageFault."""
        url = f"{self._url}{'&' if '?' in self._url else '?'}digest={quote(str(digest))}"
        headers = _OCTETS | {"Content-Length": "0"}
        response = self._repository.endpoint.send(
            "PUT", url, self._scope, self._subject, headers, b"", patience=_COMMIT_SECONDS
        )
        if response.status == 404 and self._repository.size(digest, self._subject) is not None:
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
