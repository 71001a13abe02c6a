"""The server's side of the handshake: from the greeting to an export that was agreed on."""

import socket
import ssl
from collections.abc import Callable, Iterator

from ingot.images.fault import ImageFault
from ingot.images.nbd import wire
from ingot.serve.catalog import Catalog, Lease
from ingot.serve.export import Export
from ingot.serve.option import BadOption, parse_info, parse_meta
from ingot.serve.session import Agreed, Hangup

_MOST_OPTIONS = 64
_MOST_DATA = 1 << 14
_CONTEXT = 1
_PREFERRED_BLOCK = 4096
_READING = wire.HAS_FLAGS | wire.SEND_FLUSH | wire.SEND_CACHE | wire.CAN_MULTI_CONN
_WRITING = wire.SEND_FUA | wire.SEND_TRIM | wire.SEND_WRITE_ZEROES | wire.SEND_FAST_ZERO


class Handshake:
    """One client's. `security` is None where there is no TLS; otherwise nothing is told before it is spoken.

    `opening` is called around the opening of exports, which may take time that is not the client's.
    """

    def __init__(
        self,
        connection: socket.socket,
        catalog: Catalog,
        security: ssl.SSLContext | None,
        opening: Callable[[bool], None],
    ) -> None:
        self.connection = connection
        self._catalog = catalog
        self._security = security
        self._opening = opening
        self._structured = False
        # The name of the export for which base:allocation was agreed on.
        self._contexts: str | None = None

    def run(self) -> Agreed | None:
        """What was agreed on, with its export taken; None when the client left. `connection` is then what to speak
        over. Raises Hangup and OSError."""
        self.connection.sendall(
            wire.GREETING.pack(wire.INIT_MAGIC, wire.OPTION_MAGIC, wire.FIXED_NEWSTYLE | wire.NO_ZEROES)
        )
        flags = wire.CLIENT_FLAGS.unpack(self._receive(wire.CLIENT_FLAGS.size))[0]
        if not flags & wire.FIXED_NEWSTYLE or flags & ~(wire.FIXED_NEWSTYLE | wire.NO_ZEROES):
            raise Hangup(f"its flags are {flags:#x}: it is not of the fixed newstyle")
        for _ in range(_MOST_OPTIONS):
            magic, option, length = wire.OPTION.unpack(self._receive(wire.OPTION.size))
            if magic != wire.OPTION_MAGIC or length > _MOST_DATA:
                raise Hangup(f"its option {option} has {length} bytes, or is none")
            data = bytes(self._receive(length))
            if option == wire.OPT_ABORT:
                self._reply(option, wire.REP_ACK)
                return None
            if option == wire.OPT_EXPORT_NAME:
                return self._by_name(data, bool(flags & wire.NO_ZEROES))
            agreed = self._answer(option, data)
            if agreed is not None:
                return agreed
        raise Hangup(f"it has more than {_MOST_OPTIONS} options")

    def _answer(self, option: int, data: bytes) -> Agreed | None:
        if self._security is not None and option != wire.OPT_STARTTLS and not self._secure:
            self._reply(option, wire.REP_ERR_TLS_REQD, b"this server speaks TLS only")
            return None
        try:
            if option in (wire.OPT_INFO, wire.OPT_GO):
                return self._inform(option, data)
            if option in (wire.OPT_LIST_META_CONTEXT, wire.OPT_SET_META_CONTEXT):
                self._meta(option, data)
            elif option in _PLAIN:
                if data:
                    raise BadOption("this option has no data")
                _PLAIN[option](self)
            else:
                self._reply(option, wire.REP_ERR_UNSUP)
        except BadOption as error:
            self._reply(option, wire.REP_ERR_INVALID, str(error).encode())
        return None

    @property
    def _secure(self) -> bool:
        return isinstance(self.connection, ssl.SSLSocket)

    def _start_tls(self) -> None:
        if self._security is None:
            self._reply(wire.OPT_STARTTLS, wire.REP_ERR_POLICY, b"this server has no certificate")
            return
        if self._secure:
            raise BadOption("TLS is spoken already")
        self._reply(wire.OPT_STARTTLS, wire.REP_ACK)
        wrapped = self._security.wrap_socket(self.connection, server_side=True, do_handshake_on_connect=False)
        self.connection = wrapped
        wrapped.do_handshake()
        # What was agreed on before, anybody on the way may have said.
        self._structured, self._contexts = False, None

    def _list(self) -> None:
        for name in self._catalog.names():
            encoded = name.encode()
            self._reply(wire.OPT_LIST, wire.REP_SERVER, wire.LONG.pack(len(encoded)) + encoded)
        self._reply(wire.OPT_LIST, wire.REP_ACK)

    def _structure(self) -> None:
        self._structured = True
        self._reply(wire.OPT_STRUCTURED_REPLY, wire.REP_ACK)

    def _meta(self, option: int, data: bytes) -> None:
        if not self._structured:
            raise BadOption("structured replies must be agreed on before")
        name, queries = parse_meta(data)
        setting = option == wire.OPT_SET_META_CONTEXT
        if setting:
            self._contexts = None
        lease = self._take(option, name)
        if lease is None:
            return
        lease.release()
        wanted = {wire.BASE_ALLOCATION} if setting else {wire.BASE_ALLOCATION, b"base:"}
        if wanted & set(queries) or not (queries or setting):
            self._reply(
                option, wire.REP_META_CONTEXT, wire.LONG.pack(_CONTEXT if setting else 0) + wire.BASE_ALLOCATION
            )
            if setting:
                self._contexts = name
        self._reply(option, wire.REP_ACK)

    def _inform(self, option: int, data: bytes) -> Agreed | None:
        name, wanted = parse_info(data)
        lease = self._take(option, name)
        if lease is None:
            return None
        try:
            for information in self._information(lease, wanted):
                self._reply(option, wire.REP_INFO, information)
            self._reply(option, wire.REP_ACK)
        except OSError:
            lease.release()
            raise
        if option == wire.OPT_GO:
            return self._agreed(name, lease)
        lease.release()
        return None

    def _information(self, lease: Lease, wanted: list[int]) -> Iterator[bytes]:
        yield wire.EXPORT_INFO.pack(wire.INFO_EXPORT, lease.export.size, self._flags(lease.export))
        yield wire.BLOCK_SIZES.pack(wire.INFO_BLOCK_SIZE, 1, _PREFERRED_BLOCK, wire.MOST_REQUEST)
        if wire.INFO_NAME in wanted:
            yield wire.SHORT.pack(wire.INFO_NAME) + lease.name.encode()

    def _by_name(self, data: bytes, brief: bool) -> Agreed:
        """The old way, which knows no errors."""
        if self._security is not None and not self._secure:
            raise Hangup("it does not speak TLS")
        try:
            name = data.decode()
            self._opening(True)
            lease = self._catalog.take(name)
        except (KeyError, ValueError, OSError, ImageFault) as error:
            raise Hangup(f"there is no such export: {error}") from error
        finally:
            self._opening(False)
        try:
            answer = wire.EXPORT_ANSWER.pack(lease.export.size, self._flags(lease.export))
            self.connection.sendall(answer if brief else answer + bytes(124))
        except OSError:
            lease.release()
            raise
        return self._agreed(name, lease)

    def _take(self, option: int, name: str) -> Lease | None:
        """Opens an export; None when the client was told that it cannot be."""
        self._opening(True)
        try:
            return self._catalog.take(name)
        except KeyError:
            self._reply(option, wire.REP_ERR_UNKNOWN, b"there is no export of this name")
        except (OSError, ImageFault):
            self._reply(option, wire.REP_ERR_UNKNOWN, b"the export cannot be opened; the server's log says why")
        finally:
            self._opening(False)
        return None

    def _agreed(self, name: str, lease: Lease) -> Agreed:
        return Agreed(lease, self._structured, _CONTEXT if self._contexts == name else None)

    def _flags(self, export: Export) -> int:
        flags = _READING | (_WRITING if export.writable else wire.READ_ONLY)
        return flags | wire.SEND_DF if self._structured else flags

    def _reply(self, option: int, kind: int, data: bytes = b"") -> None:
        self.connection.sendall(wire.OPTION_REPLY.pack(wire.OPTION_REPLY_MAGIC, option, kind, len(data)) + data)

    def _receive(self, length: int) -> bytearray:
        data = bytearray(length)
        view = memoryview(data)
        while len(view):
            count = self.connection.recv_into(view)
            if count == 0:
                raise ConnectionResetError("it left within the handshake")
            view = view[count:]
        return data


_PLAIN: dict[int, Callable[[Handshake], None]] = {
    wire.OPT_STARTTLS: Handshake._start_tls,
    wire.OPT_LIST: Handshake._list,
    wire.OPT_STRUCTURED_REPLY: Handshake._structure,
}
