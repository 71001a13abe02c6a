"""Network cards and networks that do not fit each other, or say nothing or too much of what they are."""

import ipaddress
from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid, required
from ingot.api.kubevirt.platform_faults import pci_faults
from ingot.api.object import Object
from ingot.api.status import Cause

# QEMU's: its guests get the sixteenth address.
_LEAST_ADDRESSES = 32
_TYPES = ("pod", "multus")
_BINDINGS = ("bridge", "masquerade", "sriov", "slirp", "macvtap", "passt", "passtBinding", "binding")


def network_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of the networks of an instance's spec that is found at `path`, and of the cards on them."""
    networks = spec.get("networks") or []
    interfaces = spec["domain"]["devices"].get("interfaces") or []
    yield from _matched(networks, interfaces, path)
    yield from _types(networks, f"{path}.networks")
    for index, interface in enumerate(interfaces):
        field = f"{path}.domain.devices.interfaces[{index}]"
        yield from _bindings(interface, field)
        if "pciAddress" in interface:
            yield from pci_faults(f"{field}.pciAddress", interface["pciAddress"])


def _matched(networks: list[Object], interfaces: list[Object], path: str) -> Iterator[Cause]:
    known = {network["name"] for network in networks}
    used = {interface["name"] for interface in interfaces}
    for index, interface in enumerate(interfaces):
        if interface["name"] not in known:
            field = f"{path}.domain.devices.interfaces[{index}].name"
            yield invalid(field, interface["name"], "no network has this name")
    for index, network in enumerate(networks):
        if network["name"] not in used:
            yield invalid(f"{path}.networks[{index}].name", network["name"], "no interface has this name")


def _types(networks: list[Object], path: str) -> Iterator[Cause]:
    first = ""
    for index, network in enumerate(networks):
        field = f"{path}[{index}]"
        given = [kind for kind in _TYPES if kind in network]
        if not given:
            yield required(field, f"should have a network type: {' or '.join(_TYPES)}")
        elif len(given) > 1:
            yield invalid(field, ", ".join(given), "should have only one network type")
        if "pod" in network and first:
            yield invalid(field, network["name"], f"there is only one pod network, and {first} is it")
        if "pod" in network:
            first = first or field
            yield from _ranges(network["pod"], f"{field}.pod")


def _ranges(pod: Object, path: str) -> Iterator[Cause]:
    for key, version, example in (("vmNetworkCIDR", 4, "10.0.2.0/24"), ("vmIPv6NetworkCIDR", 6, "fd10:0:2::/64")):
        given = pod.get(key)
        if given and not _is_range(given, version):
            yield invalid(
                f"{path}.{key}", given, f"must be addresses of IPv{version} with room for guests, as {example}"
            )


def _is_range(given: str, version: int) -> bool:
    try:
        network = ipaddress.ip_network(given, strict=False)
    except ValueError:
        return False
    # The router, the server of names and the guest are in it.
    return network.version == version and network.num_addresses >= _LEAST_ADDRESSES


def _bindings(interface: Object, path: str) -> Iterator[Cause]:
    given = [binding for binding in _BINDINGS if binding in interface]
    if not given:
        yield required(path, f"an interface needs a binding: {', '.join(_BINDINGS)}")
    elif len(given) > 1:
        yield invalid(path, ", ".join(given), "an interface has only one binding")
    seen: set[str] = set()
    for index, port in enumerate(interface.get("ports") or ()):
        name = port.get("name")
        if name and name in seen:
            why = f'Duplicate value: "{name}"'
            yield Cause(f"{path}.ports[{index}].name", why, "FieldValueDuplicate")
        seen.add(name or "")
