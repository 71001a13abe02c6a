"""Annotations and phases of claims and volumes: Kubernetes' own, and ours."""

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


def is_bound(claim: Object) -> bool:
    """Whether claim and volume have found each other for good."""
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


def is_meant_for(volume: Object, claim: Object) -> bool:
    """Whether the volume refers to the claim: to this one, or to whichever has its name."""
    reference = volume["spec"].get("claimRef")
    if not reference:
        return False
    named = (reference.get("namespace"), reference.get("name")) == (namespace_of(claim), name_of(claim))
    return bool(named and reference.get("uid") in (None, "", uid_of(claim)))
