"""Endpoints."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import addresses, names
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

PROTOCOLS = ("SCTP", "TCP", "UDP")
_SHOWN = 3


def default(obj: Object) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def validate(new: Object, old: Object | None) -> list[Cause]:
    causes = []
    for index, subset in enumerate(new.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            causes.append(fields.required(path, "must specify `addresses` or `notReadyAddresses`"))
        for key in ("addresses", "notReadyAddresses"):
            for position, address in enumerate(subset.get(key) or ()):
                causes += _address(f"{path}.{key}[{position}]", address)
        ports = subset.get("ports") or ()
        for position, port in enumerate(ports):
            causes += _port(f"{path}.ports[{position}]", port, named=len(ports) > 1)
    return causes


def _address(field: str, address: Object) -> list[Cause]:
    value = address.get("ip", "")
    causes = addresses.ip(f"{field}.ip", value)
    if hostname := address.get("hostname"):
        causes += fields.checked(f"{field}.hostname", hostname, names.label)
    if "nodeName" in address:
        causes += fields.checked(f"{field}.nodeName", address["nodeName"], names.subdomain)
    return causes + addresses.reachable(f"{field}.ip", value)


def _port(field: str, port: Object, named: bool) -> list[Cause]:
    name = port.get("name", "")
    causes = fields.named(f"{field}.name", name, names.label) if named or name else []
    number = port.get("port", 0)
    causes += [fields.invalid(f"{field}.port", number, fault) for fault in names.port_number(number)]
    causes += fields.one_of(f"{field}.protocol", port["protocol"], PROTOCOLS)
    if "appProtocol" in port:
        causes += fields.checked(f"{field}.appProtocol", port["appProtocol"], names.qualified)
    return causes


def _listed(obj: Object) -> str:
    found = []
    for subset in obj.get("subsets") or ():
        hosts = [address.get("ip", "") for address in subset.get("addresses") or ()]
        if ports := subset.get("ports"):
            found += [_host_port(host, port["port"]) for port in ports for host in hosts]
        else:
            found += hosts
    if not obj.get("subsets"):
        return "<none>"
    shown = ",".join(found[:_SHOWN])
    return f"{shown} + {len(found) - _SHOWN} more..." if len(found) > _SHOWN else shown


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


ENDPOINTS = define(
    "io.k8s.api.core.v1.Endpoints",
    "endpoints",
    namespaced=True,
    default=default,
    validate=validate,
    columns=(NAME, Column("Endpoints", _listed, description="The addresses and ports of a service."), AGE),
    singular="endpoints",
    short_names=("ep",),
    create_on_update=True,
)
