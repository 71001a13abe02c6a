"""Who writes to a volume while it is to be copied."""

from ingot.api.object import name_of
from ingot.api.pod_claims import held_by
from ingot.kube.cache import Cache
from ingot.standalone.scheduler.ledger import ENDED
from ingot.standalone.volumes.words import phase_of


def writer_of(pods: Cache, namespace: str, claim: str) -> str:
    """The name of a pod on a node that may write to the claim's volume, "" if there is none."""
    for pod in pods.list(namespace):
        if not pod["spec"].get("nodeName") or phase_of(pod) in ENDED:
            continue
        if any(held.claim == claim and not held.read_only for held in held_by(pod)):
            return name_of(pod)
    return ""


def busy(pod: str) -> str:
    """What is said of an original that cannot be copied at one moment, and is written to."""
    return (
        f"is in use by pod {pod}, and on this filesystem a copy takes time, in which the original must not change: "
        "stop the pod, or put the volumes on XFS or btrfs"
    )
