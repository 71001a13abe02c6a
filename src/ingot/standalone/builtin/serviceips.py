"""The addresses and ports that a Service is given when it asks for none."""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.status import ApiError, invalid
from ingot.standalone import fields

NETWORK = ipaddress.IPv4Network("10.96.0.0/16")
NODE_PORTS = range(30000, 32768)
_KEPT = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")


def allocate(service: Object, others: Iterable[Object]) -> None:
    """Fills in addresses and node ports, in place; `others` are all services there are.

    The search starts at a place that the name decides, so that a service that is made anew mostly gets its address
    back. Raises ApiError where an address or port that was asked for is taken.
    """
    spec = service["spec"]
    _pair(spec)
    if spec["type"] == "ExternalName":
        return
    listed = [other["spec"] for other in others]
    _families(spec)
    taken = {address for other in listed for address in other.get("clusterIPs") or ()}
    wanted = spec.get("clusterIP", "")
    if not wanted:
        wanted = next((address for address in _addresses(service) if address not in taken), "")
        if not wanted:
            raise _taken(service, "spec.clusterIPs", [], f"failed to allocate an IP: {NETWORK} is full")
    elif wanted in taken and wanted != "None":
        raise _taken(
            service, "spec.clusterIPs", [wanted], f"failed to allocate IP {wanted}: provided IP is already allocated"
        )
    spec["clusterIP"] = wanted
    spec["clusterIPs"] = spec.get("clusterIPs") or [wanted]
    if spec["type"] in ("NodePort", "LoadBalancer") and spec.get("allocateLoadBalancerNodePorts", True):
        _node_ports(service, {port["nodePort"] for other in listed for port in _ports(other) if port.get("nodePort")})


def keep(service: Object, old: Object) -> None:
    """Gives a service that is replaced what it had been given, where the new text does not mention it."""
    spec, before = service["spec"], old["spec"]
    _pair(spec)
    if spec["type"] == "ExternalName" != before["type"]:
        _drop_addresses(spec, before)
    if "ExternalName" in (spec["type"], before["type"]):
        return
    if spec.get("clusterIP") and spec.get("clusterIPs") == before.get("clusterIPs"):
        # Who changes the single address means the list too.
        spec["clusterIPs"] = [spec["clusterIP"], *(before.get("clusterIPs") or [])[1:]]
    for key in _KEPT:
        if not spec.get(key) and before.get(key):
            spec[key] = before[key]
    had = {(port.get("name", ""), port["port"], port["protocol"]): port.get("nodePort") for port in _ports(before)}
    for port in _ports(spec) if spec["type"] != "ClusterIP" else ():
        number = had.get((port.get("name", ""), port["port"], port["protocol"]))
        if number and not port.get("nodePort"):
            port["nodePort"] = number


def _drop_addresses(spec: Object, before: Object) -> None:
    """Takes what only a service with an address has from one that becomes a mere name, unless that was changed, too."""
    kept = [key for key in ("clusterIP", "clusterIPs") if spec.get(key) != before.get(key)]
    for key in ("clusterIP", "clusterIPs") if not kept else ():
        spec.pop(key, None)
    for key in ("ipFamilies", "ipFamilyPolicy"):
        if spec.get(key) == before.get(key):
            spec.pop(key, None)


def _families(spec: Object) -> None:
    """One family; both, on every cluster, for a service whose endpoints others write."""
    free = spec.get("clusterIP") == "None" and not spec.get("selector")
    policy = spec.setdefault("ipFamilyPolicy", "RequireDualStack" if free else "SingleStack")
    families = spec.setdefault("ipFamilies", ["IPv4"])
    if free and policy != "SingleStack" and len(families) == 1:
        families.append("IPv6" if families[0] == "IPv4" else "IPv4")


def _pair(spec: Object) -> None:
    """The single address and the list of them are one fact."""
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]


def _addresses(service: Object) -> Iterator[str]:
    """Every address that a service may have, each once; the first one is that of the API itself."""
    size = NETWORK.num_addresses - 3
    digest = hashlib.sha256(f"{namespace_of(service)}/{name_of(service)}".encode()).digest()
    start = int.from_bytes(digest[:4], "big") % size
    for step in range(size):
        yield str(NETWORK[2 + (start + step) % size])


def _ports(spec: Object) -> list[Object]:
    return spec.get("ports") or []


def _node_ports(service: Object, taken: set[int]) -> None:
    for index, port in enumerate(_ports(service["spec"])):
        number = port.get("nodePort")
        if number is None:
            number = next((candidate for candidate in NODE_PORTS if candidate not in taken), None)
            if number is None:
                raise _taken(service, f"spec.ports[{index}].nodePort", 0, "range is full")
        elif number in taken:
            raise _taken(service, f"spec.ports[{index}].nodePort", number, "provided port is already allocated")
        port["nodePort"] = number
        taken.add(number)


def _taken(service: Object, field: str, value: object, why: str) -> ApiError:
    return invalid("", "Service", name_of(service), [fields.invalid(field, value, why)])
