"""What a pod means where it says nothing."""

from collections.abc import Iterator

from ingot.api.object import Object
from ingot.api.quantity import Quantity
from ingot.standalone.builtin.kinds import claim, sources
from ingot.standalone.builtin.kinds.container import PROBES

_FILE_MODE = 0o644
_TOKEN_SECONDS = 3600
_UNREACHABLE_SECONDS = 300
# Taints that Kubernetes puts on a lost node; a pod stays there this long in case the node comes back.
_NODE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def default(obj: Object) -> None:
    spec = obj["spec"]
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for container in containers(spec):
        _container(container)
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        _requests(container["resources"])
        if spec.get("hostNetwork"):
            for port in container.get("ports") or ():
                port.setdefault("hostPort", port.get("containerPort", 0))
    _spec(spec)
    obj["status"].setdefault("phase", "Pending")
    obj["status"].setdefault("qosClass", qos_class(spec))


def containers(spec: Object) -> Iterator[Object]:
    """Every container of a pod, of every sort."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(key) or ()


def _spec(spec: Object) -> None:
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("enableServiceLinks", True)
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def tolerate_lost_nodes(spec: Object) -> None:
    """Adds what admission adds to every pod that does not say otherwise."""
    given = spec.setdefault("tolerations", [])
    for key in _NODE_TAINTS:
        if not any(_tolerates(toleration, key) for toleration in given):
            given.append(
                {
                    "key": key,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _UNREACHABLE_SECONDS,
                }
            )


def _tolerates(toleration: Object, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _container(container: Object) -> None:
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for probe in (container[key] for key in PROBES if key in container):
        for key, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1)):
            probe.setdefault(key, value)
        probe.setdefault("failureThreshold", 3)
        _http(probe)
        if "grpc" in probe:
            probe["grpc"]["service"] = probe["grpc"].get("service") or ""
    for handler in (container.get("lifecycle") or {}).values():
        _http(handler)
    for variable in container.get("env") or ():
        if (reference := variable.get("valueFrom", {}).get("fieldRef")) is not None:
            reference.setdefault("apiVersion", "v1")


def _pull_policy(image: str) -> str:
    """An image without a tag is the latest one, which must be asked for each time."""
    name, digest, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not digest and image) else "IfNotPresent"


def _http(handler: Object) -> None:
    if (action := handler.get("httpGet")) is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _requests(resources: Object) -> None:
    """Who says how much at most, and not how much at least, means both."""
    for name, limit in (resources.get("limits") or {}).items():
        resources.setdefault("requests", {}).setdefault(name, limit)


def _volume(volume: Object) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
    sources.default(volume)
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if kind in volume:
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    for source in (volume.get("projected") or {}).get("sources") or ():
        if (token := source.get("serviceAccountToken")) is not None:
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)
        _field_versions(source.get("downwardAPI") or {})
    _field_versions(volume.get("downwardAPI") or {})
    if (template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate")) is not None:
        claim.default_spec(template["spec"])


def _field_versions(source: Object) -> None:
    for item in source.get("items") or ():
        if (reference := item.get("fieldRef")) is not None:
            reference.setdefault("apiVersion", "v1")


def qos_class(spec: Object) -> str:
    """How well a pod is protected when memory is short."""
    totals: dict[str, dict[str, object]] = {"requests": {}, "limits": {}}
    guaranteed = True
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        for sort, total in totals.items():
            for name in ("cpu", "memory"):
                amount = Quantity.parse((container["resources"].get(sort) or {}).get(name, "0")).exact
                if amount > 0:
                    total[name] = amount + total.get(name, 0)  # type: ignore[operator]  # sums of Fractions
        limits = container["resources"].get("limits") or {}
        guaranteed = guaranteed and all(Quantity.parse(limits.get(name, "0")).exact > 0 for name in ("cpu", "memory"))
    if not totals["requests"] and not totals["limits"]:
        return "BestEffort"
    return "Guaranteed" if guaranteed and totals["requests"] == totals["limits"] else "Burstable"
