"""Functions that Kubernetes adds to CEL: URLs, quantities, addresses, names."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from ingot.api.quantity import Quantity, QuantityError
from ingot.standalone.builtin import names
from ingot.standalone.goprint import INT64, quote
from ingot.standalone.schema import formats
from ingot.standalone.schema.cel.faults import CelError, no_overload
from ingot.standalone.schema.cel.values import NONE, Optional, register_kind
from ingot.standalone.schema.gourl import URL, URLError, parse_request_uri

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Amount:
    """A quantity's number; how it was written does not matter to rules."""

    exact: Fraction


@dataclass(frozen=True, slots=True)
class Network:
    """An address with the length of its network's prefix."""

    address: Address
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def masked(self) -> "Network":
        network = ipaddress.ip_network(str(self), strict=False)
        return Network(network.network_address, self.length)

    def holds(self, address: Address) -> bool:
        return address in ipaddress.ip_network(str(self), strict=False)


@dataclass(frozen=True, slots=True)
class Format:
    name: str
    check: Callable[[str], list[str]]


register_kind(URL, "kubernetes.URL")
register_kind(Amount, "kubernetes.Quantity")
register_kind(ipaddress.IPv4Address, "net.IP")
register_kind(ipaddress.IPv6Address, "net.IP")
register_kind(Network, "net.CIDR")
register_kind(Format, "kubernetes.NamedFormat")


def _succeeds(function: Callable[[str], Any]) -> Callable[[str], bool]:
    def run(text: str) -> bool:
        try:
            function(text)
        except CelError:
            return False
        return True

    return run


def url(text: str) -> URL:
    try:
        return parse_request_uri(text)
    except URLError as error:
        raise CelError(f"URL parse error during conversion from string: {error}") from None


def quantity(text: str) -> Amount:
    try:
        return Amount(Quantity.parse(text).exact)
    except QuantityError as error:
        raise CelError(str(error)) from None


def _compare(one: Amount, other: Amount) -> int:
    return (one.exact > other.exact) - (one.exact < other.exact)


def _as_integer(amount: Amount) -> int:
    if amount.exact.denominator != 1 or amount.exact.numerator not in INT64:
        raise CelError("cannot convert value to integer")
    return amount.exact.numerator


def _is_integer(amount: Amount) -> bool:
    return amount.exact.denominator == 1 and amount.exact.numerator in INT64


def _number(value: Any) -> Fraction:
    if isinstance(value, Amount):
        return value.exact
    if isinstance(value, int) and not isinstance(value, bool):
        return Fraction(value)
    raise no_overload()


def ip(value: Any) -> Address:
    """An address from a text, or that of a network."""
    if isinstance(value, Network):
        return value.address
    prefix = f"IP Address {quote(value)}"
    if "%" in value:
        raise CelError(f"IP address {quote(value)} with zone value is not allowed")
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        raise CelError(
            f"{prefix} parse error during conversion from string: ParseAddr({quote(value)}): unable to parse IP"
        ) from None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        raise CelError(f"IPv4-mapped IPv6 address {quote(value)} is not allowed")
    return address


def cidr(text: str) -> Network:
    address, slash, length = text.partition("/")
    failed = "network address parse error during conversion from string: "
    wrong = CelError(f"{failed}{failed}netip.ParsePrefix({quote(text)}): invalid CIDR")
    if not slash or not length.isdigit() or not length.isascii() or (len(length) > 1 and length.startswith("0")):
        raise wrong
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        raise wrong from None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        raise CelError(f"{failed}IPv4-mapped IPv6 address {quote(text)} is not allowed")
    if "%" in address or int(length) > parsed.max_prefixlen:
        raise wrong
    return Network(parsed, int(length))


def _contains_ip(network: Network, given: Any) -> bool:
    try:
        return network.holds(ip(given) if isinstance(given, str) else given)
    except CelError:
        # What is wrong with the address gets lost in Kubernetes.
        raise no_overload() from None


def _contains_cidr(network: Network, given: Any) -> bool:
    other = cidr(given) if isinstance(given, str) else given
    same_family = network.address.version == other.address.version
    return same_family and network.length <= other.length and network.holds(other.address)


def _global_unicast(address: Address) -> bool:
    broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not broadcast and not special


def _link_local_multicast(address: Address) -> bool:
    networks = ("224.0.0.0/24", "ff02::/16")
    return any(address in ipaddress.ip_network(network) for network in networks)


def _said(name: str, fault: str) -> Callable[[str], list[str]]:
    checker = formats.checker(name)
    return lambda text: [] if checker is None or checker(text) else [fault]


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except URLError as error:
        return [str(error)]
    return []


_FORMATS = {
    "dns1123Label": names.label,
    "dns1123Subdomain": names.subdomain,
    "dns1035Label": names.label_1035,
    "qualifiedName": names.qualified,
    "dns1123LabelPrefix": lambda text: names.prefix(names.label, text),
    "dns1123SubdomainPrefix": lambda text: names.prefix(names.subdomain, text),
    "dns1035LabelPrefix": lambda text: names.prefix(names.label_1035, text),
    "labelValue": names.label_value,
    "uri": _uri,
    "uuid": _said("uuid", "does not match the UUID format"),
    "byte": _said("byte", "invalid base64"),
    "date": _said("date", "invalid date"),
    "datetime": _said("datetime", "invalid datetime"),
}
_KNOWN = {name: Format(name, check) for name, check in _FORMATS.items()}


def _validate(form: Format, text: str) -> Optional:
    faults = form.check(text)
    return Optional(faults) if faults else NONE


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "url": url,
    "isURL": _succeeds(url),
    "getScheme": lambda value: value.scheme,
    "getHost": lambda value: value.host,
    "getHostname": lambda value: value.hostname,
    "getPort": lambda value: value.port,
    "getEscapedPath": lambda value: value.escaped_path,
    "getQuery": lambda value: parse_qs(value.query, keep_blank_values=True),
    "quantity": quantity,
    "isQuantity": _succeeds(quantity),
    "sign": lambda amount: (amount.exact > 0) - (amount.exact < 0),
    "isGreaterThan": lambda one, other: one.exact > other.exact,
    "isLessThan": lambda one, other: one.exact < other.exact,
    "compareTo": _compare,
    "asApproximateFloat": lambda amount: float(amount.exact),
    "asInteger": _as_integer,
    "isInteger": _is_integer,
    "add": lambda one, other: Amount(one.exact + _number(other)),
    "sub": lambda one, other: Amount(one.exact - _number(other)),
    "ip": ip,
    "isIP": _succeeds(ip),
    "ip.isCanonical": lambda text: str(ip(text)) == text,
    "family": lambda address: address.version,
    "isUnspecified": lambda address: address.is_unspecified,
    "isLoopback": lambda address: address.is_loopback,
    "isLinkLocalMulticast": _link_local_multicast,
    "isLinkLocalUnicast": lambda address: address.is_link_local,
    "isGlobalUnicast": _global_unicast,
    "cidr": cidr,
    "isCIDR": _succeeds(cidr),
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": lambda network: network.length,
    "masked": lambda network: network.masked,
    "format.named": lambda name: Optional(_KNOWN[name]) if name in _KNOWN else NONE,
    "validate": _validate,
    **{f"format.{name}": partial(_KNOWN.__getitem__, name) for name in _KNOWN},
}
