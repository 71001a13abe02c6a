"""The NBD protocol's numbers and layouts, for the client and the server.

https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md; only the fixed newstyle handshake is spoken.
"""

import struct

# The handshake.
GREETING = struct.Struct(">QQH")
INIT_MAGIC = 0x4E42444D41474943
OPTION_MAGIC = 0x49484156454F5054
FIXED_NEWSTYLE = 1
NO_ZEROES = 2
CLIENT_FLAGS = struct.Struct(">I")
# magic, option, length of its data
OPTION = struct.Struct(">QII")
# magic, option, type, length of its data
OPTION_REPLY = struct.Struct(">QIII")
OPTION_REPLY_MAGIC = 0x3E889045565A9

OPT_EXPORT_NAME = 1
OPT_ABORT = 2
OPT_LIST = 3
OPT_STARTTLS = 5
OPT_INFO = 6
OPT_GO = 7
OPT_STRUCTURED_REPLY = 8
OPT_LIST_META_CONTEXT = 9
OPT_SET_META_CONTEXT = 10

REP_ACK = 1
REP_SERVER = 2
REP_INFO = 3
REP_META_CONTEXT = 4
REP_ERROR = 1 << 31
REP_ERR_UNSUP = REP_ERROR | 1
REP_ERR_POLICY = REP_ERROR | 2
REP_ERR_INVALID = REP_ERROR | 3
REP_ERR_TLS_REQD = REP_ERROR | 5
REP_ERR_UNKNOWN = REP_ERROR | 6
REP_ERR_SHUTDOWN = REP_ERROR | 7
REP_ERR_TOO_BIG = REP_ERROR | 9

INFO_EXPORT = 0
INFO_NAME = 1
INFO_DESCRIPTION = 2
INFO_BLOCK_SIZE = 3
# type, size, transmission flags
EXPORT_INFO = struct.Struct(">HQH")
# type, least, preferred, most
BLOCK_SIZES = struct.Struct(">HIII")
# size, transmission flags: the answer to OPT_EXPORT_NAME
EXPORT_ANSWER = struct.Struct(">QH")
SHORT = struct.Struct(">H")
LONG = struct.Struct(">I")

HAS_FLAGS = 1 << 0
READ_ONLY = 1 << 1
SEND_FLUSH = 1 << 2
SEND_FUA = 1 << 3
SEND_TRIM = 1 << 5
SEND_WRITE_ZEROES = 1 << 6
SEND_DF = 1 << 7
CAN_MULTI_CONN = 1 << 8
SEND_CACHE = 1 << 10
SEND_FAST_ZERO = 1 << 11

# Transmission: magic, flags, command, cookie, offset, length.
REQUEST = struct.Struct(">IHHQQI")
REQUEST_MAGIC = 0x25609513
CMD_READ = 0
CMD_WRITE = 1
CMD_DISC = 2
CMD_FLUSH = 3
CMD_TRIM = 4
CMD_CACHE = 5
CMD_WRITE_ZEROES = 6
CMD_BLOCK_STATUS = 7
FLAG_FUA = 1
FLAG_NO_HOLE = 2
FLAG_DF = 4
FLAG_REQ_ONE = 8
FLAG_FAST_ZERO = 16

# magic, error, cookie
SIMPLE_REPLY = struct.Struct(">IIQ")
SIMPLE_REPLY_MAGIC = 0x67446698
# magic, flags, type, cookie, length of what follows
CHUNK = struct.Struct(">IHHQI")
CHUNK_MAGIC = 0x668E33EF
CHUNK_DONE = 1
CHUNK_NONE = 0
CHUNK_DATA = 1
CHUNK_HOLE = 2
CHUNK_STATUS = 5
CHUNK_ERROR = 1 << 15 | 1
CHUNK_ERROR_OFFSET = 1 << 15 | 2
# offset, before the data of CHUNK_DATA
DATA_OFFSET = struct.Struct(">Q")
# offset, length
HOLE = struct.Struct(">QI")
# error, length of the message
ERROR = struct.Struct(">IH")
# length, flags
DESCRIPTOR = struct.Struct(">II")

BASE_ALLOCATION = b"base:allocation"
STATE_HOLE = 1
STATE_ZERO = 2

# The protocol's own bounds of strings, of what a request without known block sizes may ask for, and of the least block.
MOST_NAME = 4096
MOST_REQUEST = 32 << 20
MOST_LEAST_BLOCK = 1 << 16

# Errors on the wire: the numbers that Linux has for them.
EPERM, EIO, ENOMEM, EINVAL = 1, 5, 12, 22
ENOSPC, EOVERFLOW, ENOTSUP, ESHUTDOWN = 28, 75, 95, 108
