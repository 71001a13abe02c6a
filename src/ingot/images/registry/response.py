"""Answers of web servers, whose bodies are read into memory that is there already."""

import contextlib
import http.client
import socket
import ssl
from collections.abc import Callable
from email.message import Message

from ingot.images.fault import ImageFault
from ingot.images.registry.paced import PacedSocket, PacedTlsSocket
from ingot.images.registry.pool import Line

# What one call reads at most. Where a connection breaks within a call, what the call had read is lost.
_PIECE = 1 << 19
# A short document, such as a manifest, must have come after that.
_DOCUMENT_SECONDS = 60.0
# Whether there is more than was wanted must be known after that.
_END_SECONDS = 10.0


class Response:
    """An answer. It must be closed; one that was read to its end gives its connection back."""

    def __init__(
        self,
        subject: str,
        url: str,
        answer: http.client.HTTPResponse,
        line: Line,
        socket: PacedSocket | PacedTlsSocket,
        give: Callable[[Line], None],
    ) -> None:
        self.subject = subject
        self.url = url
        self.status = answer.status
        self._answer = answer
        self._line: Line | None = line
        self._socket = socket
        self._give = give

    @property
    def headers(self) -> Message:
        """By name in any case; the first of several of one name."""
        return self._answer.headers

    @property
    def length(self) -> int | None:
        """What is to come, where the server has said that; http.client counts it down."""
        return self._answer.length

    @property
    def ends_itself(self) -> bool:
        """Whether a body of no stated length says where it ends (chunked), so that a lost connection is told from
        that."""
        return bool(self._answer.chunked)

    def readinto(self, buffer: memoryview) -> int:
        """The next bytes; 0 where the server has ended the body, or the connection. Raises ImageFault, to be tried
        again."""
        try:
            return self._answer.readinto(buffer[:_PIECE])
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise lost(self.subject, error) from None

    def goes_on(self) -> bool:
        """Whether more comes in a body of no stated length. One that does not say so in time, or breaks, has ended."""
        if self.length is not None:
            return False
        self._socket.expect(_END_SECONDS)
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            return self._answer.readinto(bytearray(1)) > 0
        return False

    def document(self, limit: int) -> bytes:
        """The whole body, and closes. Raises ImageFault for one of more than `limit` bytes, or that ends early."""
        self._socket.expect(_DOCUMENT_SECONDS)
        try:
            stated = self.length
            if stated is not None and stated > limit:
                raise _too_large(self.subject, limit)
            data = self._answer.read(limit + 1) if stated is None else self._answer.read()
            if len(data) > limit:
                raise _too_large(self.subject, limit)
            if stated is not None and len(data) < stated:
                raise ImageFault(self.subject, "ConnectionLost", "the answer ends early", retry=True)
            return data
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise lost(self.subject, error) from None
        finally:
            self.close()

    def discard(self) -> None:
        """Closes; a short rest of the body is read, so that the connection can be used again."""
        if self.length is not None and self.length <= _PIECE:
            try:
                self._socket.expect(2.0)
                self._answer.read()
            except (OSError, http.client.HTTPException, ValueError):
                self._answer.close()
        self.close()

    def close(self) -> None:
        line, self._line = self._line, None
        if line is None:
            return
        whole = self._answer.isclosed() and not self._answer.will_close and self._answer.length in (0, None)
        self._answer.close()
        if whole and line.connection.sock is not None:
            self._give(line)
        else:
            line.close()


def lost(subject: str, error: Exception) -> ImageFault:
    """What to tell of a connection that failed. Only a certificate that is not trusted is final."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return ImageFault(
            subject, "BadCertificate", f"its certificate is not trusted ({error.verify_message}): name its CA with --ca"
        )
    if isinstance(error, ssl.SSLError):
        return ImageFault(subject, "BadTls", f"it does not speak TLS as it should ({error.reason})", retry=True)
    if isinstance(error, TimeoutError):
        return ImageFault(subject, "TooSlow", "its server does not answer in time", retry=True)
    if isinstance(error, ConnectionRefusedError):
        return ImageFault(subject, "Unreachable", "nothing listens there", retry=True)
    if isinstance(error, socket.gaierror):
        # That a name is not known is an answer; other failures of the name service may pass.
        passing = error.errno not in (socket.EAI_NONAME, socket.EAI_NODATA)
        return ImageFault(subject, "Unreachable", f"its host cannot be found: {error.strerror}", retry=passing)
    if isinstance(error, OSError) and not isinstance(error, ConnectionError):
        return ImageFault(subject, "Unreachable", f"it cannot be reached: {error.strerror or error}", retry=True)
    return ImageFault(subject, "ConnectionLost", f"the connection was lost ({type(error).__name__})", retry=True)


def _too_large(subject: str, limit: int) -> ImageFault:
    return ImageFault(subject, "TooLarge", f"the answer is too large: at most {limit} bytes are accepted")
