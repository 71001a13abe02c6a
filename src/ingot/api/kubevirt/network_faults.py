"""Network cards and networks that do not fit each other, or say nothing or too much of what they are."""

from collections.abc import Iterator

from ingot.api.kubevirt.causes import invalid, required
from ingot.api.object import Object
from ingot.api.status import Cause

_TYPES = ("pod", "multus")
_BINDINGS = ("bridge", "masquerade", "sriov", "slirp", "macvtap", "passt", "passtBinding", "binding")


def network_faults(spec: Object, path: str) -> Iterator[Cause]:
    """The faults of the networks of an instance's spec that is found at `path`, and of the cards on them."""
    networks = spec.get("networks") or []
    interfaces = spec["domain"]["devices"].get("interfaces") or []
    yield from _matched(networks, interfaces, path)
    yield from _types(networks, f"{path}.networks")
    for index, interface in enumerate(interfaces):
        yield from _bindings(interface, f"{path}.domain.devices.interfaces[{index}]")


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
