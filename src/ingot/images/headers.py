"""Headers that a person adds to requests."""

from collections.abc import Iterable

from ingot.api.header import header_fault, parse_header
from ingot.images.fault import ImageFault

_SUBJECT = "extraHeaders, secretExtraHeaders"


def parse_headers(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Reads lines `Name: value`, each with the place that it is in. Raises ImageFault, without a word of them: they may
    be secrets.

    Several of one name are sent as one, which means the same (RFC 9110, 5.3; of cookies RFC 9113, 8.2.3).
    """
    found: dict[str, tuple[str, list[str]]] = {}
    for line, place in lines:
        if why := header_fault(line):
            raise ImageFault(_SUBJECT, "BadHeader", f"{place}: {why}")
        name, value = parse_header(line)
        found.setdefault(name.lower(), (name, []))[1].append(value)
    return {name: ("; " if key == "cookie" else ", ").join(values) for key, (name, values) in found.items()}
