"""The containers of a pod."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names, resources
from ingot.standalone.builtin.kinds import environment, podvolumes
from ingot.standalone.builtin.kinds.endpoints import PROTOCOLS
from ingot.standalone.builtin.kinds.service import port_or_name

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


def validate(spec: Object, volumes: dict[str, Object]) -> list[Cause]:
    """What is wrong with the containers of a pod; `volumes` are its volumes by name."""
    ordinary = spec.get("containers") or []
    if not ordinary:
        return [fields.required("spec.containers")]
    causes = []
    seen: set[str] = set()
    for index, container in enumerate(ordinary):
        path = f"spec.containers[{index}]"
        causes += _common(path, container, volumes) + _unique(path, container, seen) + _watched(path, container, spec)
        if "restartPolicy" in container:
            causes.append(fields.forbidden(f"{path}.restartPolicy", "may not be set for non-init containers"))
    causes += _host_ports("spec.containers", ordinary)
    for index, container in enumerate(spec.get("initContainers") or ()):
        path = f"spec.initContainers[{index}]"
        causes += _common(path, container, volumes) + _restart_policy(path, container)
        causes += _unique(path, container, seen) + _host_ports("spec.initContainers", [container])
        causes += _init(path, container, spec)
    return causes


def _unique(path: str, container: Object, seen: set[str]) -> list[Cause]:
    name = container.get("name", "")
    causes = [fields.duplicate(f"{path}.name", name)] if name in seen else []
    if name:
        seen.add(name)
    return causes


def _common(path: str, container: Object, volumes: dict[str, Object]) -> list[Cause]:
    """What holds for containers of every sort."""
    causes = fields.named(f"{path}.name", container.get("name", ""), names.label)
    image = container.get("image", "")
    if not image:
        causes.append(fields.required(f"{path}.image"))
    policy = container["terminationMessagePolicy"]
    causes += fields.one_of(f"{path}.terminationMessagePolicy", policy, _MESSAGE_POLICIES)
    causes += _ports(f"{path}.ports", container.get("ports") or [])
    causes += environment.variables(f"{path}.env", container.get("env") or [])
    causes += environment.sources(f"{path}.envFrom", container.get("envFrom") or [])
    causes += podvolumes.mounts(f"{path}.volumeMounts", container, volumes)
    causes += podvolumes.devices(f"{path}.volumeDevices", container, volumes)
    causes += fields.one_of(f"{path}.imagePullPolicy", container["imagePullPolicy"], _PULL_POLICIES)
    return causes + resources.requirements(f"{path}.resources", container["resources"])


def _ports(field: str, ports: list[Object]) -> list[Cause]:
    causes = []
    seen = set()
    for index, port in enumerate(ports):
        path = f"{field}[{index}]"
        if name := port.get("name"):
            causes += fields.checked(f"{path}.name", name, names.port_name)
            if name in seen:
                causes.append(fields.duplicate(f"{path}.name", name))
            seen.add(name)
        for key in ("containerPort", "hostPort"):
            number = port.get(key, 0)
            if number:
                causes += [fields.invalid(f"{path}.{key}", number, fault) for fault in names.port_number(number)]
            elif key == "containerPort":
                causes.append(fields.required(f"{path}.{key}"))
        causes += fields.one_of(f"{path}.protocol", port["protocol"], PROTOCOLS)
    return causes


def _host_ports(field: str, containers: list[Object]) -> list[Cause]:
    causes = []
    seen = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            if number := port.get("hostPort"):
                key = f"{port['protocol']}/{port.get('hostIP', '')}/{number}"
                if key in seen:
                    causes.append(fields.duplicate(f"{field}[{index}].ports[{position}].hostPort", key))
                seen.add(key)
    return causes


def _restart_policy(path: str, container: Object) -> list[Cause]:
    policy = container.get("restartPolicy", "Always")
    return [] if policy == "Always" else [fields.not_supported(f"{path}.restartPolicy", policy, ["Always"])]


def _init(path: str, container: Object, spec: Object) -> list[Cause]:
    """An init container that goes on running is watched like any other; one that ends is not."""
    if container.get("restartPolicy") == "Always":
        return _watched(path, container, spec)
    return [fields.forbidden(f"{path}.{key}", _ONLY_SIDECARS) for key in ("lifecycle", *PROBES) if key in container]


def _watched(path: str, container: Object, spec: Object) -> list[Cause]:
    """Lifecycle hooks and probes."""
    causes = []
    grace = spec["terminationGracePeriodSeconds"]
    for key, handler in (container.get("lifecycle") or {}).items():
        if key in ("postStart", "preStop"):
            causes += _handler(f"{path}.lifecycle.{key}", handler, grace)
    for key in (key for key in PROBES if key in container):
        causes += _probe(f"{path}.{key}", container[key], grace, key == "readinessProbe")
    return causes


def _probe(field: str, probe: Object, grace: int, readiness: bool) -> list[Cause]:
    causes = _handler(field, probe, grace)
    for key in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        causes += fields.not_negative(f"{field}.{key}", probe.get(key, 0))
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        causes.append(fields.invalid(f"{field}.terminationGracePeriodSeconds", period, "must be greater than 0"))
    if readiness and period is not None:
        why = "must not be set for readinessProbes"
        causes.append(fields.invalid(f"{field}.terminationGracePeriodSeconds", period, why))
    if not readiness and probe["successThreshold"] != 1:
        causes.append(fields.invalid(f"{field}.successThreshold", probe["successThreshold"], "must be 1"))
    return causes


def _handler(field: str, handler: Object, grace: int) -> list[Cause]:
    given = [key for key in _HANDLERS if key in handler]
    if not given:
        return [fields.required(field, "must specify a handler type")]
    path, action = f"{field}.{given[0]}", handler[given[0]]
    causes = _action(path, given[0], action, grace)
    return causes + [
        fields.forbidden(f"{field}.{key}", "may not specify more than 1 handler type") for key in given[1:]
    ]


def _action(path: str, kind: str, action: Object, grace: int) -> list[Cause]:
    if kind == "exec":
        return fields.missing(path, action, "command")
    if kind == "sleep":
        seconds = action.get("seconds", 0)
        if 0 < seconds <= grace:
            return []
        why = (
            f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). "
            "Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
        return [fields.invalid(path, seconds, why)]
    causes = port_or_name(f"{path}.port", action["port"])
    if kind == "httpGet" and action["scheme"] not in ("HTTP", "HTTPS"):
        causes.append(fields.not_supported(f"{path}.scheme", action["scheme"], ("HTTP", "HTTPS")))
    return causes
