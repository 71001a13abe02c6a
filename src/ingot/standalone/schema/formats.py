"""The string formats that kube-apiserver checks in a custom resource. Any other format says nothing to it."""

import ipaddress
import re
from collections.abc import Callable

from ingot.standalone.schema.gourl import URLError, parse_request_uri
from ingot.standalone.schema.patterns import pattern

_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_ATOM_CHARS = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\x80-\U0010ffff-"
_ATOM = rf"[{_ATOM_CHARS}]+"
_ADDRESS = rf"(?:{_ATOM}(?:\.{_ATOM})*|\"(?:[^\"\\\r\n]|\\.)*\")@(?:{_ATOM}(?:\.{_ATOM})*|\[[^\[\]]*\])"
# Here and below nothing is given back (*+, ++) where two parts of an expression could share a text in many ways.
_EMAIL = re.compile(rf"\s*+(?:{_ADDRESS}|(?:\"[^\"]*+\"|[{_ATOM_CHARS}\s.])*+<\s*+{_ADDRESS}\s*+>)\s*+")
_MAC = re.compile(
    r"(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}(?:(?:[0-9a-f]{2}\1){2}|(?:[0-9a-f]{2}\1){14})?[0-9a-f]{2}"
    r"|(?:[0-9a-f]{4}\.){2}(?:[0-9a-f]{4}\.|(?:[0-9a-f]{4}\.){7})?[0-9a-f]{4})",
    re.IGNORECASE | re.ASCII,
)
_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_RGB_PART = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"
_RGB = re.compile(rf"rgb\({_RGB_PART},{_RGB_PART},{_RGB_PART}\)", re.ASCII)
_DURATION = re.compile(r"[-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:ns|us|µs|μs|ms|s|m|h))+", re.ASCII)
_DURATION_PART = re.compile(r"(\d++(?:\.\d*+)?|\.\d++)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_LOOSE_DURATION = re.compile(r"(?<!\d)(\d++)\s*+([A-Za-zµ]+)", re.ASCII)
_MICRO, _MILLI, _SECOND, _MINUTE, _HOUR, _DAY = 10**3, 10**6, 10**9, 60 * 10**9, 3600 * 10**9, 86400 * 10**9
# What Go reads into 64 bits.
_MOST_DIGITS = 18
_UNITS = {"ns": 1, "us": _MICRO, "µs": _MICRO, "μs": _MICRO, "ms": _MILLI, "s": _SECOND, "m": _MINUTE, "h": _HOUR}
# Exact names of a unit, and the last, which may have a tail: "minutes" is "min" with one.
_LOOSE_UNITS = (
    (("ns",), "nano", 1),
    (("us", "µs"), "micro", _MICRO),
    (("ms",), "milli", _MILLI),
    (("s",), "sec", _SECOND),
    (("m",), "min", _MINUTE),
    (("h", "hr"), "hour", _HOUR),
    (("d",), "day", _DAY),
    (("w", "wk"), "week", 7 * _DAY),
)


def go_duration(text: str) -> int | None:
    """Nanoseconds of a duration as Go writes it, such as `1h30m`, or None."""
    if text in ("0", "+0", "-0"):
        return 0
    if not _DURATION.fullmatch(text):
        return None
    parts = [float(amount) * _UNITS[unit] for amount, unit in _DURATION_PART.findall(text)]
    if sum(parts) > 2**63:
        return None
    total = sum(map(round, parts))
    return -total if text.startswith("-") else total


def parse_duration(text: str) -> int | None:
    """Nanoseconds of `1h30m` (Go) or `2 days` (Scala), or None."""
    exact = go_duration(text)
    if exact is not None:
        return exact
    found, total = False, 0
    for amount, unit in _LOOSE_DURATION.findall(text):
        if len(amount) > _MOST_DIGITS:
            return None
        for names, stem, nanoseconds in _LOOSE_UNITS:
            if unit.lower() in names or unit.lower().startswith(stem):
                found, total = True, total + int(amount) * nanoseconds
    return total if found else None


def is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if not match:
        return False
    year, month, day = (int(part) for part in match.groups())
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= _MONTH_DAYS[month - 1] + leap


def is_date_time(text: str) -> bool:
    parts = text.lower().split("t")
    if len(parts) < 2 or not is_date(parts[0]):
        return False
    match = _TIME.fullmatch(parts[1])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def _regular(expression: str) -> Callable[[str], bool]:
    compiled = re.compile(expression, re.ASCII | re.IGNORECASE)
    return lambda text: compiled.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    if not pattern(_HOSTNAME).matches(text):
        return False
    return len(text.encode()) <= 255 and all(len(label.encode()) <= 63 for label in text.split("."))


def parse_ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address without zone; leading zeros in IPv4 are tolerated, as kube-apiserver does in this place."""
    if "%" in text:
        return None
    if ":" not in text:
        text = ".".join(part.lstrip("0") or "0" if part.isdigit() else part for part in text.split("."))
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _is_ipv4(text: str) -> bool:
    return "." in text and parse_ip(text) is not None


def _is_ipv6(text: str) -> bool:
    return ":" in text and parse_ip(text) is not None


def _is_cidr(text: str) -> bool:
    address, _, length = text.partition("/")
    parsed = parse_ip(address)
    return parsed is not None and length.isascii() and length.isdigit() and int(length) <= parsed.max_prefixlen


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(int(digit) for digit in digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits)) % 10 == 0


_HEX = "[0-9a-f]"
_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _regular(f"{_HEX}{{24}}"),
    "uri": _is_uri,
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _regular(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid3": _regular(f"{_HEX}{{8}}-?{_HEX}{{4}}-?3{_HEX}{{3}}-?{_HEX}{{4}}-?{_HEX}{{12}}"),
    "uuid4": _regular(f"{_HEX}{{8}}-?{_HEX}{{4}}-?4{_HEX}{{3}}-?[89ab]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "uuid5": _regular(f"{_HEX}{{8}}-?{_HEX}{{4}}-?5{_HEX}{{3}}-?[89ab]{_HEX}{{3}}-?{_HEX}{{12}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    # Eleven characters: both separators are there, whatever the expression allows.
    "ssn": _regular(r"\d{3}[- ]\d{2}[- ]\d{4}"),
    "hexcolor": _regular(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": lambda text: _RGB.fullmatch(text) is not None,
    "byte": _regular(r"(?:[a-z0-9+/]{4})*(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=|[a-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": is_date,
    "duration": lambda text: parse_duration(text) is not None,
    "datetime": is_date_time,
}


def checker(name: str) -> Callable[[str], bool] | None:
    """The test for a format, or None for one that kube-apiserver ignores. Dashes in the name do not count."""
    return _FORMATS.get(name.replace("-", ""))
