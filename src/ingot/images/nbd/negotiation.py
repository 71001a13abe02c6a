"""The client's side of the handshake: what a server says of an export, checked."""

from collections.abc import Iterator
from dataclasses import dataclass

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.images.nbd.address import Address
from ingot.images.nbd.channel import Channel

HANDSHAKE_SECONDS = 30
_MOST_REPLIES = 64
_MOST_REPLY = 1 << 16
# Linux has no larger offset in a file.
_MOST_SIZE = (1 << 63) - 1


@dataclass(slots=True)
class Terms:
    """What was agreed on. `context` is the number of base:allocation, None where there is no block status."""

    size: int = -1
    flags: int = 0
    structured: bool = False
    context: int | None = None
    least: int = 1
    most: int = wire.MOST_REQUEST

    def like(self, other: "Terms") -> bool:
        """Whether what is read under these terms can go on under the others."""
        mine = (self.size, self.least, self.context is None)
        return mine == (other.size, other.least, other.context is None)


class Negotiation:
    """One handshake over a fresh channel. All raise ImageFault."""

    def __init__(self, channel: Channel, address: Address) -> None:
        self._channel = channel
        self._address = address
        self._export = address.export.encode()

    def run(self) -> Terms:
        """Goes through it until the export can be read."""
        if len(self._export) > wire.MOST_NAME:
            raise self._refused("BadAddress", f"a name of an export has at most {wire.MOST_NAME} bytes")
        self._channel.hurry(HANDSHAKE_SECONDS)
        self._greet()
        if self._address.tls is not None:
            self._start_tls()
        terms = Terms()
        terms.structured = self._structured()
        if terms.structured:
            terms.context = self._allocation()
        self._go(terms)
        self._channel.hurry(None)
        return terms

    def _greet(self) -> None:
        magic, option_magic, flags = wire.GREETING.unpack(self._channel.receive(wire.GREETING.size))
        if magic != wire.INIT_MAGIC or option_magic != wire.OPTION_MAGIC or not flags & wire.FIXED_NEWSTYLE:
            raise self._refused("NotNbd", "it does not greet as an NBD server of the fixed newstyle")
        self._channel.send(wire.CLIENT_FLAGS.pack(wire.FIXED_NEWSTYLE | (flags & wire.NO_ZEROES)))

    def _start_tls(self) -> None:
        for kind, data in self._ask(wire.OPT_STARTTLS, b""):
            if kind != wire.REP_ACK:
                raise self._refused("Tls", f"it has no TLS: {_reason(kind, data)}")
        self._channel.encrypt()

    def _structured(self) -> bool:
        return all(kind == wire.REP_ACK for kind, _ in self._ask(wire.OPT_STRUCTURED_REPLY, b""))

    def _allocation(self) -> int | None:
        found = None
        query = wire.LONG.pack(len(wire.BASE_ALLOCATION)) + wire.BASE_ALLOCATION
        request = wire.LONG.pack(len(self._export)) + self._export + wire.LONG.pack(1) + query
        for kind, data in self._ask(wire.OPT_SET_META_CONTEXT, request):
            if kind == wire.REP_META_CONTEXT:
                if found is not None or data[4:] != wire.BASE_ALLOCATION:
                    raise self._refused("BadAnswer", "it names a meta context that was not asked for")
                found = wire.LONG.unpack_from(data)[0]
        return found

    def _go(self, terms: Terms) -> None:
        request = wire.LONG.pack(len(self._export)) + self._export
        request += wire.SHORT.pack(1) + wire.SHORT.pack(wire.INFO_BLOCK_SIZE)
        for kind, data in self._ask(wire.OPT_GO, request):
            if kind & wire.REP_ERROR:
                shutdown = kind == wire.REP_ERR_SHUTDOWN
                raise ImageFault(str(self._address), "NoExport", f"no export {_reason(kind, data)}", retry=shutdown)
            if kind == wire.REP_INFO:
                self._inform(terms, data)
        if not 0 <= terms.size <= _MOST_SIZE:
            raise self._refused("BadAnswer", f"it gives the export a size of {terms.size} bytes")

    def _inform(self, terms: Terms, data: bytearray) -> None:
        kind = wire.SHORT.unpack_from(data)[0] if len(data) >= wire.SHORT.size else None
        if kind == wire.INFO_EXPORT and len(data) == wire.EXPORT_INFO.size:
            _, terms.size, terms.flags = wire.EXPORT_INFO.unpack(data)
        elif kind == wire.INFO_BLOCK_SIZE and len(data) == wire.BLOCK_SIZES.size:
            _, least, _, most = wire.BLOCK_SIZES.unpack(data)
            if not 0 < least <= wire.MOST_LEAST_BLOCK or least & (least - 1) or most < least:
                raise self._refused("BadAnswer", f"it wants blocks of {least} to {most} bytes")
            terms.least = least
            terms.most = min(most - most % least, wire.MOST_REQUEST)
        elif kind in (None, wire.INFO_EXPORT, wire.INFO_BLOCK_SIZE):
            raise self._refused("BadAnswer", "what it says of the export has a wrong length")

    def _ask(self, option: int, data: bytes) -> Iterator[tuple[int, bytearray]]:
        """Sends an option; its replies up to and with the last one. They must all be taken."""
        self._channel.send(wire.OPTION.pack(wire.OPTION_MAGIC, option, len(data)) + data)
        for _ in range(_MOST_REPLIES):
            magic, about, kind, length = wire.OPTION_REPLY.unpack(self._channel.receive(wire.OPTION_REPLY.size))
            if magic != wire.OPTION_REPLY_MAGIC or about != option or length > _MOST_REPLY:
                raise self._refused("BadAnswer", f"its reply to option {option} is not one")
            content = self._channel.receive(length)
            if kind == wire.REP_META_CONTEXT and length < wire.LONG.size:
                raise self._refused("BadAnswer", "a meta context has no number")
            yield kind, content
            if kind == wire.REP_ACK or kind & wire.REP_ERROR:
                return
        raise self._refused("BadAnswer", f"it has more than {_MOST_REPLIES} replies to option {option}")

    def _refused(self, reason: str, message: str) -> ImageFault:
        return ImageFault(str(self._address), reason, message)


_REASONS = {
    wire.REP_ERR_UNSUP: "the server does not know this option",
    wire.REP_ERR_POLICY: "the server does not allow it",
    wire.REP_ERR_INVALID: "the server takes the request for a wrong one",
    wire.REP_ERR_TLS_REQD: "the server wants TLS: use nbds://",
    wire.REP_ERR_UNKNOWN: "the server does not have it",
    wire.REP_ERR_SHUTDOWN: "the server is shutting down",
}


def _reason(kind: int, data: bytearray) -> str:
    """An error reply for people. The server's own words are cut and made printable."""
    words = "".join(letter for letter in data[:200].decode(errors="replace") if letter.isprintable())
    reason = _REASONS.get(kind, f"error {kind & ~wire.REP_ERROR}")
    return f"({reason}: {words})" if words else f"({reason})"
