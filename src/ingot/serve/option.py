"""The data of the options that have any, parsed strictly."""

from ingot.images.nbd import wire

_MOST_QUERIES = 64


class BadOption(ValueError):
    """The data of an option is not what it should be."""


def parse_info(data: bytes) -> tuple[str, list[int]]:
    """OPT_INFO and OPT_GO: the export's name and which information is wanted. Raises BadOption."""
    name, position = _string(data, 0)
    if len(data) < position + wire.SHORT.size:
        raise BadOption("the option is too short")
    count = wire.SHORT.unpack_from(data, position)[0]
    rest = data[position + wire.SHORT.size :]
    if len(rest) != count * wire.SHORT.size:
        raise BadOption("the number of wanted information is another one")
    return _name(name), [wanted for (wanted,) in wire.SHORT.iter_unpack(rest)]


def parse_meta(data: bytes) -> tuple[str, list[bytes]]:
    """OPT_LIST_META_CONTEXT and OPT_SET_META_CONTEXT: the export's name and the queries. Raises BadOption."""
    name, position = _string(data, 0)
    if len(data) < position + wire.LONG.size:
        raise BadOption("the option is too short")
    count = wire.LONG.unpack_from(data, position)[0]
    position += wire.LONG.size
    if count > _MOST_QUERIES:
        raise BadOption(f"there are more than {_MOST_QUERIES} queries")
    queries = []
    for _ in range(count):
        query, position = _string(data, position)
        queries.append(query)
    if position != len(data):
        raise BadOption("there is more after the last query")
    return _name(name), queries


def _string(data: bytes, position: int) -> tuple[bytes, int]:
    """A string with its length before it, and where it ends."""
    begin = position + wire.LONG.size
    if len(data) < begin:
        raise BadOption("the option is too short")
    end = begin + wire.LONG.unpack_from(data, position)[0]
    if end > len(data) or end - begin > wire.MOST_NAME:
        raise BadOption(f"a string goes beyond the option, or has more than {wire.MOST_NAME} bytes")
    return data[begin:end], end


def _name(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadOption("the name of the export is not UTF-8") from None
