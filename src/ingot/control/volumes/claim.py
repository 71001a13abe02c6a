"""The claim of a DataVolume: what `spec.pvc` or `spec.storage` asks for, with what CDI's claims tell of themselves."""

from ingot.api.cdi import names
from ingot.api.cdi.size import requested, with_overhead
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.quantity import written
from ingot.api.resources import VOLUME_CLAIMS
from ingot.control.volumes.fault import VolumeFault
from ingot.control.volumes.marks import annotation
from ingot.kube.cache import Cache, Key
from ingot.kube.objects import copy_of, set_controller_reference

# Monitoring warns of filesystems that are nearly full, as those that hold one disk image always are.
_FULL_BY_NATURE = {"alerts.k8s.io/KubePersistentVolumeFillingUp": "disabled"}

DEFAULT_VIRT_CLASS = "storageclass.kubevirt.io/is-default-virt-class"
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_DEFAULT_CLASS = (DEFAULT_VIRT_CLASS, DEFAULT_CLASS, "storageclass.beta.kubernetes.io/is-default-class")
_DELAYED = "WaitForFirstConsumer"

# Said of the DataVolume alone, or told by those who work on the claim.
_NOT_PASSED_ON = frozenset(
    {
        names.POPULATED_FOR,
        names.PRE_POPULATED,
        names.DELETE_WHEN_DONE,
        names.POD_PHASE,
        names.POD_NAME,
        names.POD_READY,
        names.RUNNING,
        names.RUNNING_MESSAGE,
        names.RUNNING_REASON,
        names.CLONE_TYPE,
        names.PROGRESS,
        names.FAILURE,
        names.QUEUED,
        names.DELTA,
        names.PRIME_FOR,
        names.CLONED_FROM,
    }
)
_OTHERS = ("kubectl.kubernetes.io/", "pv.kubernetes.io/", "volume.kubernetes.io/", "volume.beta.kubernetes.io/")


def wish_of(volume: Object) -> Object:
    """What is asked of the claim: `spec.pvc` or `spec.storage`."""
    spec = volume["spec"]
    wish: Object = spec["pvc"] if "pvc" in spec else spec["storage"]
    return wish


def is_free(volume: Object) -> bool:
    """Whether what the claim's spec leaves out is for us to choose."""
    return "storage" in volume["spec"]


def class_of(wish: Object, classes: Cache) -> Object | None:
    """The StorageClass that a claim with this spec gets; None where it has none, or that is not there."""
    name = wish.get("storageClassName")
    if name is not None:
        return classes.get(Key("", name))
    for mark in _DEFAULT_CLASS:
        default = [each for each in classes.list() if annotation(each, mark) == "true"]
        if default:
            return max(default, key=lambda each: (each["metadata"].get("creationTimestamp", ""), name_of(each)))
    return None


def is_local(storage_class: Object | None) -> bool:
    """Whether its volumes are files of one machine: as large as they are said to be, and bound to no choice of node."""
    return (storage_class or {}).get("provisioner") == names.LOCAL_PROVISIONER


def is_immediate(obj: Object) -> bool:
    """Whether a DataVolume or claim asks to be filled before anything uses it."""
    return bool((obj["metadata"].get("annotations") or {}).get(names.IMMEDIATE, "false") != "false")


def waits_for_consumer(claim: Object, classes: Cache) -> bool:
    """Whether the claim is filled only once a pod that uses it has been given a node."""
    if is_immediate(claim) or annotation(claim, names.SELECTED_NODE):
        return False
    return (class_of(claim["spec"], classes) or {}).get("volumeBindingMode") == _DELAYED


def spec_of(volume: Object, storage_class: Object | None, size: int, mode: str = "") -> Object:
    """The claim's spec. `size`: in bytes, for a volume that leaves choices to us; `mode`: the volumeMode of what is
    cloned, "" where nothing is, or nobody knows.

    Raises VolumeFault for what no claim can be made of.
    """
    wish = wish_of(volume)
    _check(volume, wish)
    spec = copy_of(wish)
    if not is_free(volume):
        return spec
    if storage_class is not None:
        spec["storageClassName"] = name_of(storage_class)
    elif wish.get("storageClassName") != "" or not spec.get("accessModes"):
        # What a class would have us choose cannot be guessed: it may come in a moment, as on a machine that starts.
        raise _no_class(wish)
    spec["volumeMode"] = spec.get("volumeMode") or _mode_like(volume, mode)
    spec["accessModes"] = spec.get("accessModes") or ["ReadWriteOnce"]
    grows = spec["volumeMode"] == "Filesystem" and not is_local(storage_class)
    # A copy of a filesystem needs no more room than the filesystem that it is copied from.
    is_copy = mode == "Filesystem" and requested(wish) is None
    if grows and not is_copy:
        size = with_overhead(size)
    resources = spec.setdefault("resources", {})
    resources["requests"] = {**(resources.get("requests") or {}), "storage": written(size)}
    return spec


def _check(volume: Object, wish: Object) -> None:
    where = "storage" if is_free(volume) else "pvc"
    if volume["spec"].get("contentType") == "archive" and mode_of(wish) == "Block":
        message = f"spec.{where}.volumeMode: an archive needs a Filesystem to be unpacked in. This is final"
        raise VolumeFault("ErrClaimNotValid", message, final=True)
    if wish.get("volumeName") and (volume["spec"].get("source") or volume["spec"].get("sourceRef")):
        message = (
            f"spec.{where}.volumeName names a volume that is there already, which is not filled. This is final: leave "
            f"volumeName out, or let a DataVolume adopt a claim of that volume with {names.ADOPT}: true"
        )
        raise VolumeFault("ErrClaimNotValid", message, final=True)


def _no_class(wish: Object) -> VolumeFault:
    name = wish.get("storageClassName")
    if name == "":
        message = 'spec.storage.accessModes is expected where storageClassName is "". This is final'
        return VolumeFault("ErrClaimNotValid", message, final=True)
    why = f'StorageClass "{name}" is not there' if name else "there is no default StorageClass"
    return VolumeFault("ErrClaimNotValid", f"spec.storage.storageClassName: {why}; the claim is made once there is one")


def mode_of(spec: Object) -> str:
    """The volumeMode of a claim with this spec."""
    return str(spec.get("volumeMode") or "Filesystem")


def _mode_like(volume: Object, mode: str) -> str:
    return "Filesystem" if volume["spec"].get("contentType") == "archive" else mode or "Filesystem"


def render(volume: Object, spec: Object, reference: Object | None, *, local: bool, origin: Key | None = None) -> Object:
    """The claim, controlled by the DataVolume. `reference` tells the populator what to fill it with, and `origin` is
    what it is a clone of.

    Where nothing else is said, `local` volumes do not wait for a consumer: there is one node that it can be on.
    """
    metadata: Object = {
        "name": name_of(volume),
        "namespace": namespace_of(volume),
        "labels": {
            **names.APP_LABELS,
            **(_FULL_BY_NATURE if mode_of(spec) == "Filesystem" else {}),
            **(volume["metadata"].get("labels") or {}),
        },
        "annotations": {**_told(volume), **({names.CLONED_FROM: str(origin)} if origin else {})},
    }
    made = {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "metadata": metadata,
        "spec": {**spec, "dataSourceRef": reference} if reference else spec,
    }
    set_controller_reference(made, volume)
    if local:
        hasten(made)
    return made


def hasten(claim: Object) -> None:
    """Let the claim be filled before anything uses it, unless it says otherwise."""
    claim["metadata"]["annotations"].setdefault(names.IMMEDIATE, "true")


def _told(volume: Object) -> dict[str, str]:
    spec = volume["spec"]
    passed_on = {
        key: text
        for key, text in (volume["metadata"].get("annotations") or {}).items()
        if key not in _NOT_PASSED_ON and not key.startswith(_OTHERS)
    }
    priority = {names.PRIORITY_CLASS: spec["priorityClassName"]} if spec.get("priorityClassName") else {}
    preallocation = {names.PREALLOCATION: str(spec["preallocation"]).lower()} if "preallocation" in spec else {}
    return {
        **passed_on,
        **priority,
        **preallocation,
        names.POD_RESTARTS: "0",
        names.CONTENT_TYPE: spec.get("contentType") or "kubevirt",
        names.CREATED_FOR: uid_of(volume),
    }
