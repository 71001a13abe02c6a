"""What pods may ask of a kubelet that this machine does not do, and says so instead of pretending."""

from collections.abc import Iterator

from ingot.api.object import Object
from ingot.standalone.pods.fault import PodFault

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def refusal(pod: Object) -> PodFault | None:
    """Why the pod cannot run here at all; None if it can."""
    wishes = list(_wishes(pod["spec"]))
    if not wishes:
        return None
    why = f"pods on one machine cannot have {', '.join(wishes)}; leave it out, or run the pod on a cluster"
    return PodFault("UnsupportedFeature", why, final=True)


def _wishes(spec: Object) -> Iterator[str]:
    if spec.get("ephemeralContainers"):
        yield "spec.ephemeralContainers"
    if spec.get("shareProcessNamespace"):
        yield "spec.shareProcessNamespace"
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key) or ()):
            field = f"spec.{key}[{index}]"
            if container.get("restartPolicy"):
                yield f"{field}.restartPolicy"
            if container.get("lifecycle"):
                yield f"{field}.lifecycle"
            for probe in _PROBES:
                if "grpc" in (container.get(probe) or {}):
                    yield f"{field}.{probe}.grpc"
            if any(mount.get("subPathExpr") for mount in container.get("volumeMounts") or ()):
                yield f"{field}.volumeMounts.subPathExpr"
