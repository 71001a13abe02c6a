"""Answers of servers as http.client reads them, with bounds on what surrounds a body."""

import http.client

from ingot.images.registry.paced import PacedSocket, PacedTlsSocket

# Few servers give a hint before their answer; some repeat that they are still at work.
_MOST_INFORMATIONAL = 32
# What follows the last chunk is a line, with most servers an empty one.
_TRAILER_SECONDS = 10.0


class Answer(http.client.HTTPResponse):
    """Private methods of http.client are overridden where there is no other way in; a test watches that it still calls
    them."""

    def __init__(
        self,
        sock: PacedSocket | PacedTlsSocket,
        debuglevel: int = 0,
        method: str | None = None,
        url: str | None = None,
    ) -> None:
        super().__init__(sock, debuglevel, method, url)
        self._peer = sock

    def begin(self) -> None:
        super().begin()
        # Where there can be no body, as with 204 and 304, none is read though the server says that it comes in chunks.
        if self.length is not None:
            self.chunked = False

    def _read_status(self) -> tuple[str, int, str]:
        """Of the final answer: those before it are skipped, of which http.client knows 100 only. 101 is final, too."""
        for _ in range(_MOST_INFORMATIONAL):
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status == http.client.SWITCHING_PROTOCOLS or not 100 <= status < 200:
                return version, status, reason
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException(f"more than {_MOST_INFORMATIONAL} answers before the final one")

    def _read_next_chunk_size(self) -> int:
        """One below 0 would be read as all that ever comes."""
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise http.client.HTTPException(f"a chunk of {size} bytes")
        return size

    def _read_and_discard_trailer(self) -> None:
        """As many lines as headers may have, soon: nobody waits for more of them as for more of a body."""
        self._peer.expect(_TRAILER_SECONDS)
        http.client.parse_headers(self.fp)
