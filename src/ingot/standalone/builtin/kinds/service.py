"""Service."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import addresses, meta, names
from ingot.standalone.builtin.kinds.endpoints import PROTOCOLS
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.goprint import strings
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
AFFINITY_SECONDS = 10800
MOST_AFFINITY_SECONDS = 86400
# How Kubernetes prints a port that is there twice.
_PRINTED = (
    'core.ServicePort{Name:"", Protocol:"%s", AppProtocol:(*string)(nil), Port:%d, '
    'TargetPort:intstr.IntOrString{Type:0, IntVal:0, StrVal:""}, NodePort:0}'
)


def default(obj: Object) -> None:
    spec = obj["spec"]
    kind = spec.setdefault("type", "ClusterIP")
    if spec.setdefault("sessionAffinity", "None") == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP" and nested(spec, "sessionAffinityConfig", "clientIP") is None:
        spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": AFFINITY_SECONDS}}
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if kind != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if _is_outside(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")


def _is_outside(spec: Object) -> bool:
    """Whether it can be reached from outside of the cluster."""
    return spec["type"] in ("LoadBalancer", "NodePort") or (spec["type"] == "ClusterIP" and "externalIPs" in spec)


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = _address_changes(spec, old["spec"]) if old else []
    headless = (spec.get("clusterIPs") or [spec.get("clusterIP")])[0] == "None"
    ports = spec.get("ports") or []
    if not ports and not headless and spec["type"] != "ExternalName":
        causes.append(fields.required("spec.ports"))
    causes += _by_type(spec, headless) + _ports(ports, spec["type"])
    causes += meta.label_causes("spec.selector", spec.get("selector") or {})
    causes += _affinity(spec) + _cluster_addresses(spec)
    for index, value in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        causes += addresses.ip(path, value) or addresses.reachable(path, value)
    causes += fields.one_of("spec.type", spec["type"], TYPES)
    return causes + _duplicate_ports(ports) + _traffic(spec)


def _by_type(spec: Object, headless: bool) -> list[Cause]:
    kind = spec["type"]
    if kind in ("LoadBalancer", "NodePort") and headless:
        return [fields.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")]
    if kind != "ExternalName":
        return []
    set_keys = [key for key in ("clusterIPs", "ipFamilies", "ipFamilyPolicy") if spec.get(key)]
    causes = [fields.forbidden(f"spec.{key}", "may not be set for ExternalName services") for key in set_keys]
    return causes + fields.named("spec.externalName", spec.get("externalName", "").removesuffix("."), names.subdomain)


def _ports(ports: list[Object], kind: str) -> list[Cause]:
    causes = []
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path, name, number = f"spec.ports[{index}]", port.get("name", ""), port.get("port", 0)
        if name or len(ports) > 1:
            causes += fields.named(f"{path}.name", name, names.label)
        if name and name in seen:
            causes.append(fields.duplicate(f"{path}.name", name))
        causes += [fields.invalid(f"{path}.port", number, fault) for fault in names.port_number(number)]
        causes += fields.one_of(f"{path}.protocol", port["protocol"], PROTOCOLS)
        causes += port_or_name(f"{path}.targetPort", port["targetPort"])
        if kind == "ClusterIP" and port.get("nodePort"):
            causes.append(fields.forbidden(f"{path}.nodePort", "may not be used when `type` is 'ClusterIP'"))
        seen.add(name)
    return causes


def _duplicate_ports(ports: list[Object]) -> list[Cause]:
    causes = []
    seen = set()
    for index, port in enumerate(ports):
        key = (port["protocol"], port.get("port", 0))
        if key in seen:
            causes.append(Cause(f"spec.ports[{index}]", f"Duplicate value: {_PRINTED % key}", "FieldValueDuplicate"))
        seen.add(key)
    return causes


def port_or_name(field: str, port: int | str) -> list[Cause]:
    """What is wrong with a port that is given by number or by name."""
    faults = names.port_name(port) if isinstance(port, str) else names.port_number(port)
    return [fields.invalid(field, port, fault) for fault in faults]


def _affinity(spec: Object) -> list[Cause]:
    kinds = ("ClientIP", "None")
    if spec["sessionAffinity"] not in kinds:
        return [fields.not_supported("spec.sessionAffinity", spec["sessionAffinity"], kinds)]
    seconds = nested(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds")
    if seconds is None or 0 < seconds <= MOST_AFFINITY_SECONDS:
        return []
    why = f"must be greater than 0 and less than {MOST_AFFINITY_SECONDS}"
    return [fields.invalid("spec.sessionAffinityConfig.clientIP.timeoutSeconds", seconds, why)]


def _cluster_addresses(spec: Object) -> list[Cause]:
    if spec["type"] == "ExternalName":
        return []
    path, first, listed = "spec.clusterIPs", spec.get("clusterIP", ""), spec.get("clusterIPs") or []
    causes = []
    if first and not listed:
        causes.append(fields.required(path))
    elif first and listed[0] != first:
        causes.append(fields.invalid(path, strings(listed), "first value must match `clusterIP`"))
    elif listed and not first:
        causes.append(fields.invalid(path, strings(listed), "must be empty when `clusterIP` is not specified"))
    for index, value in enumerate(listed):
        if value != "None" or index:
            causes += addresses.ip(f"{path}[{index}]", value)
    if len(listed) > 2:
        causes.append(fields.invalid(path, strings(listed), "may only hold up to 2 values"))
    return causes


def _address_changes(spec: Object, old: Object) -> list[Cause]:
    if "ExternalName" in (spec["type"], old["type"]):
        return []
    now, before = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    if before and not now:
        return [fields.invalid("spec.clusterIPs[0]", strings(now), "primary clusterIP can not be unset")]
    if before and now[0] != before[0] and now[0] == spec.get("clusterIP"):
        return [fields.invalid("spec.clusterIPs[0]", strings(now), "may not change once set")]
    return []


def _traffic(spec: Object) -> list[Cause]:
    policies = ("Cluster", "Local")
    causes = []
    outside = spec.get("externalTrafficPolicy")
    if outside and not _is_outside(spec):
        why = "may only be set for externally-accessible services"
        causes.append(fields.invalid("spec.externalTrafficPolicy", outside, why))
    elif outside and outside not in policies:
        causes.append(fields.not_supported("spec.externalTrafficPolicy", outside, policies))
    inside = spec.get("internalTrafficPolicy")
    if inside and inside not in policies:
        causes.append(fields.not_supported("spec.internalTrafficPolicy", inside, policies))
    if "allocateLoadBalancerNodePorts" in spec and spec["type"] != "LoadBalancer":
        why = "may only be used when `type` is 'LoadBalancer'"
        causes.append(fields.forbidden("spec.allocateLoadBalancerNodePorts", why))
    return causes


def _cluster_ip(obj: Object) -> str:
    return str((obj["spec"].get("clusterIPs") or ["<none>"])[0])


def _external_ip(obj: Object) -> str:
    spec = obj["spec"]
    if spec["type"] == "ExternalName":
        return str(spec.get("externalName", "")) or "<none>"
    found = []
    if spec["type"] == "LoadBalancer":
        ingress = nested(obj, "status", "loadBalancer", "ingress") or ()
        found = [item.get("ip") or item.get("hostname", "") for item in ingress]
    found += spec.get("externalIPs") or []
    return ",".join(found) or ("<pending>" if spec["type"] == "LoadBalancer" else "<none>")


def _port_list(obj: Object) -> str:
    return (
        ",".join(
            f"{port['port']}:{port['nodePort']}/{port['protocol']}"
            if port.get("nodePort")
            else f"{port['port']}/{port['protocol']}"
            for port in obj["spec"].get("ports") or ()
        )
        or "<none>"
    )


def _selector(obj: Object) -> str:
    selector = obj["spec"].get("selector") or {}
    return ",".join(f"{key}={selector[key]}" for key in sorted(selector)) or "<none>"


SERVICE = define(
    "io.k8s.api.core.v1.Service",
    "services",
    namespaced=True,
    name_rule=names.label_1035,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Type", lambda obj: obj["spec"]["type"], description="How it is reached."),
        Column("Cluster-IP", _cluster_ip, description="Its address inside."),
        Column("External-IP", _external_ip, description="Its addresses outside."),
        Column("Port(s)", _port_list, description="Its ports."),
        AGE,
        Column("Selector", _selector, priority=1, description="The labels of the pods behind it."),
    ),
    short_names=("svc",),
    categories=("all",),
    subresources=frozenset({"status"}),
    selectable=("spec.clusterIP", "spec.type"),
    create_on_update=True,
    returns_deleted=True,
)
