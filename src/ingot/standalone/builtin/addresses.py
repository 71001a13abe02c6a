"""IP addresses in objects."""

import ipaddress

from ingot.api.status import Cause
from ingot.standalone import fields


def ip(field: str, value: str) -> list[Cause]:
    """What is wrong with a text that must be an IP address."""
    if _parsed(value) is None:
        return [fields.invalid(field, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return []


def reachable(field: str, value: str) -> list[Cause]:
    """What is wrong with an address that other machines are to reach."""
    address = _parsed(value)
    if address is None:
        return [fields.invalid(field, value, "must be a valid IP address")]
    if address.is_unspecified:
        return [fields.invalid(field, value, f"may not be unspecified ({value})")]
    if address.is_loopback:
        return [fields.invalid(field, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if address.is_link_local:
        return [fields.invalid(field, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    return []


def cidr(field: str, value: str) -> list[Cause]:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
        return [fields.invalid(field, value, why)]
    return []


def _parsed(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None
