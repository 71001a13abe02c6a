"""One client in transmission: its requests, one batch after the other."""

import logging
import time
from dataclasses import dataclass
from threading import Lock

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve import commands
from ingot.serve.catalog import Lease
from ingot.serve.incoming import Incoming
from ingot.serve.replies import PIECE, SMALL, Broken, Replies, SimpleReplies, StructuredReplies
from ingot.serve.tally import Tally
from ingot.serve.transport import Transport

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Agreed:
    """What the handshake led to. `context` is the number of base:allocation, None if the client did not ask for it."""

    lease: Lease
    structured: bool
    context: int | None


class Hangup(Exception):
    """The client breaks the protocol in a way after which nothing that it sends can be understood."""


class Session:
    """Serves until the client leaves. `refuse` makes it answer all that comes after with ESHUTDOWN."""

    def __init__(self, transport: Transport, agreed: Agreed, tally: Tally) -> None:
        self._transport = transport
        self._agreed = agreed
        self._export = agreed.lease.export
        self._tally = tally
        self._incoming = Incoming(transport)
        self._lock = Lock()
        self._replies = self._new_replies()
        # No request is within the size of an export that is gone.
        self._size = agreed.lease.export.size
        self._gone = False

    def refuse(self) -> None:
        self._gone = True
        self._size = 0

    def run(self) -> None:
        """Returns when the client has left. Raises OSError when it is lost, Hangup when it must be left."""
        incoming, replies, tally, clock = self._incoming, self._replies, self._tally, time.perf_counter_ns
        try:
            while incoming.fill():
                began = clock()
                count = self._batch()
                replies.flush()
                tally.answered(abs(count), clock() - began)
                if count < 0:
                    return
        except Broken as error:
            raise Hangup("a read failed within its reply") from error
        except EOFError as error:
            raise Hangup("it ended within what it was writing") from error

    def _batch(self) -> int:
        """Answers all requests that are here in full; how many, negative when the last one was the farewell."""
        incoming, export, tally, size = self._incoming, self._export, self._tally, self._size
        unpack, buffer, small = wire.REQUEST.unpack_from, incoming.buffer, self._replies.small
        count = 0
        while incoming.end - incoming.start >= 28:
            magic, flags, command, cookie, start, length = unpack(buffer, incoming.start)
            incoming.start += 28
            count += 1
            if 0 < length <= SMALL and command == flags == 0 and start + length <= size and magic == 0x25609513:
                small(export, cookie, start, length)
                tally.requests[0] += 1
                tally.read += length
            elif not self._any(magic, flags, command, cookie, start, length):
                return -count
        return count

    def _any(self, magic: int, flags: int, command: int, cookie: int, start: int, length: int) -> bool:
        """Answers any request; False when it was the farewell."""
        if magic != wire.REQUEST_MAGIC:
            raise Hangup(f"it sends {magic:#x} where a request should begin")
        if command == wire.CMD_DISC:
            return False
        code = commands.check(self._export, self._agreed.context is not None, flags, command, start, length)
        if self._gone:
            code = wire.ESHUTDOWN
        if command < len(self._tally.requests):
            self._tally.requests[command] += 1
        if command == wire.CMD_WRITE:
            code = self._write(start, length, bool(flags & wire.FLAG_FUA), code)
        if code:
            self._tally.errors += 1
            self._replies.error(cookie, code)
        elif command == wire.CMD_READ:
            self._tally.read += length
            self._replies.long(self._export, cookie, start, length, bool(flags & wire.FLAG_DF))
        elif command == wire.CMD_WRITE:
            self._replies.done(cookie)
        else:
            self._perform(self._replies, flags, command, cookie, start, length)
        return True

    def _write(self, start: int, length: int, through: bool, code: int) -> int:
        """Takes what is to be written, and writes it unless there is an error already; the error, 0 for none."""
        if length > wire.MOST_REQUEST:
            raise Hangup(f"it wants to write {length} bytes at once")
        for piece in self._incoming.payload(length):
            if not code:
                try:
                    self._export.write(start, piece, through)
                except (OSError, ImageFault) as error:
                    code = self._fault(error)
            start += len(piece)
        if not code:
            self._tally.written += length
        return code

    def _perform(self, replies: Replies, flags: int, command: int, cookie: int, start: int, length: int) -> None:
        try:
            if command == wire.CMD_BLOCK_STATUS:
                found = commands.status(self._export, start, length, bool(flags & wire.FLAG_REQ_ONE))
            else:
                commands.perform(self._export, flags, command, start, length)
        except (OSError, ImageFault) as error:
            replies.error(cookie, self._fault(error))
            return
        if command == wire.CMD_BLOCK_STATUS:
            replies.status(cookie, self._agreed.context or 0, found)
        else:
            replies.done(cookie)

    def _new_replies(self, room: int = PIECE) -> Replies:
        kind = StructuredReplies if self._agreed.structured else SimpleReplies
        return kind(self._transport, self._lock, self._fault, room)

    def _fault(self, error: Exception) -> int:
        """Notes what went wrong with the export; what to tell the client."""
        self._tally.errors += 1
        code = commands.code_of(error)
        if code != wire.ENOTSUP:
            _log.error("export %r: %s", self._agreed.lease.name, error)
        return code
