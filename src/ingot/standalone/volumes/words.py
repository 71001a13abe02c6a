"""Annotations and phases of claims and volumes: Kubernetes' own, and ours."""

from ingot.api.cdi.names import PRIME_FOR, PRIME_PREFIX
from ingot.api.object import Object, name_of, namespace_of, uid_of

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
STORAGE_PROVISIONER = "volume.kubernetes.io/storage-provisioner"
OLD_STORAGE_PROVISIONER = "volume.beta.kubernetes.io/storage-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
OLD_DEFAULT_CLASS = "storageclass.beta.kubernetes.io/is-default-class"
HOSTNAME = "kubernetes.io/hostname"
SNAPSHOT_GROUP = "snapshot.storage.k8s.io"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
DELAYED = "WaitForFirstConsumer"

# Our provisioner, the class that asks for it, and what holds a volume until its files are gone.
LOCAL_PROVISIONER = "ingot.io/local"
LOCAL_CLASS = "ingot-local"
LOCAL_FINALIZER = "ingot.io/local-volume"
# How far the copy of a claim's source is: `bytes done/bytes in all`.
CLONE_PROGRESS = "ingot.io/clone-progress"


def annotation(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def class_of(obj: Object) -> str:
    """The class that a claim or a volume names, "" for none."""
    return annotation(obj, OLD_CLASS) or str(obj["spec"].get("storageClassName") or "")


def is_default_class(storage_class: Object) -> bool:
    return "true" in (annotation(storage_class, DEFAULT_CLASS), annotation(storage_class, OLD_DEFAULT_CLASS))


def is_delayed(storage_class: Object | None) -> bool:
    """Whether claims of that class wait until a pod wants them."""
    return bool(storage_class and storage_class.get("volumeBindingMode") == DELAYED)


def phase_of(obj: Object) -> str:
    return str((obj.get("status") or {}).get("phase", ""))


def source_of(claim: Object) -> Object | None:
    """What the claim's volume is to be filled from; None for an empty one."""
    return claim["spec"].get("dataSourceRef") or claim["spec"].get("dataSource") or None


def is_left_to_populators(claim: Object) -> bool:
    """Whether a provisioner keeps its hands off: somebody else knows the source, and gives the claim a volume."""
    source = source_of(claim)
    return source is not None and source.get("apiGroup") not in (None, "", SNAPSHOT_GROUP)


def is_passed_on(claim: Object) -> bool:
    """Whether the claim is a populator's, and its volume another claim's as soon as it is there: nobody mounts it."""
    is_prime = name_of(claim).startswith(PRIME_PREFIX) and annotation(claim, PRIME_FOR)
    return bool(is_prime and claim["spec"].get("dataSource"))


def is_bound(claim: Object) -> bool:
    """Whether claim and volume have found each other for good, as the claim says: `belongs_to` tells if it is true."""
    return bool(claim["spec"].get("volumeName") and annotation(claim, BIND_COMPLETED))


def reference_to(claim: Object) -> Object:
    """A volume's reference to the claim that it belongs to."""
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": namespace_of(claim),
        "name": name_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": claim["metadata"]["resourceVersion"],
    }


def belongs_to(volume: Object, claim: Object) -> bool:
    """Whether the volume is this claim's. What a claim says of its volume its user writes; a volume, only who may."""
    return bool((volume["spec"].get("claimRef") or {}).get("uid") == uid_of(claim))


def is_meant_for(volume: Object, claim: Object) -> bool:
    """Whether the volume refers to the claim: to this one, or to whichever has its name."""
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    named = (reference.get("namespace"), reference.get("name")) == (namespace_of(claim), name_of(claim))
    return bool(named and reference.get("uid") in (None, "", uid_of(claim)))
