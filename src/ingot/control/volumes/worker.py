"""Worker pods: one container of Ingot's own image, with the prime's volume, that fills it and ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import floor

from ingot.api.cdi import names
from ingot.api.cdi.size import FILESYSTEM_OVERHEAD, requested
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.quantity import written
from ingot.api.resources import PODS
from ingot.api.status import ApiError
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.owning import is_owned
from ingot.control.volumes.claim import is_local
from ingot.control.volumes.filler import Means
from ingot.control.volumes.marks import annotation, is_block, target_of
from ingot.control.volumes.prime import in_the_way, not_made
from ingot.control.volumes.wishes import NOTHING, Wishes
from ingot.control.writing import live
from ingot.images.blocks import blocks_within
from ingot.kube.cache import Cache, Key, key_of
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting, set_controller_reference

CONTAINER = "worker"
_DATA, _STATE = "data", "state"
# The pipeline holds a few buffers for each of its threads, and never a whole file; what is more than that is a fault of
# which the node must not suffer.
_RESOURCES = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}
# What a mesh puts beside a worker would keep its pod from ending.
_ALONE = {"sidecar.istio.io/inject": "false"}
# A worker that is killed at any byte is gone on with, so that none needs long to end.
_GRACE_SECONDS = 5
_MIB = 1 << 20
# Journals, and what is known of uploads.
_NOTES = 64 * _MIB


@dataclass(frozen=True, slots=True)
class Mount:
    """A volume beside the prime's, by its source as pods have it, and where the worker finds it, to be read only."""

    source: Object
    path: str
    is_device: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker does: `args` of `ingot worker`, and what it needs for that.

    `prefix` begins the pod's name, `component` is CDI's name for pods of its sort. A `transfer` is counted by the gate.
    `aside` is the largest file that the worker may have to put aside on its node.
    """

    prefix: str
    component: str
    args: list[str]
    transfer: bool = True
    mounts: Mapping[str, Mount] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    priority: str = ""
    aside: int = 0


def target_path(claim: Object) -> str:
    """Where a worker finds the disk that it fills."""
    return names.DEVICE_PATH if is_block(claim) else f"{names.DATA_PATH}/{names.DISK_NAME}"


def source_path(claim: Object) -> str:
    """Where a worker finds the disk of a claim that it reads, with `source_mount`."""
    return names.SOURCE_DEVICE_PATH if is_block(claim) else f"{names.SOURCE_PATH}/{names.DISK_NAME}"


def source_mount(claim: Object) -> Mount:
    """A claim beside the prime, to be read only."""
    volume = {"persistentVolumeClaim": {"claimName": name_of(claim), "readOnly": True}}
    block = is_block(claim)
    return Mount(volume, names.SOURCE_DEVICE_PATH if block else names.SOURCE_PATH, is_device=block)


def room(claim: Object, classes: Cache) -> int:
    """How large a disk a claim has room for, in bytes: in a file, whole blocks, and less than it asks for where a
    filesystem takes its part."""
    size = requested(claim["spec"]) or 0
    if is_block(claim):
        return size
    if is_local(classes.get(Key("", claim["spec"].get("storageClassName") or ""))):
        return blocks_within(size)
    return floor(size * (1 - FILESYSTEM_OVERHEAD)) // _MIB * _MIB


def is_preallocated(spec: Object, target: Object, wishes: Wishes) -> bool:
    """Whether a volume is to have no holes: the `spec` of its source says it, else the claim, else what is wished for
    all."""
    said = annotation(target, names.PREALLOCATION)
    return bool(spec.get("preallocation", said == "true" if said else wishes.preallocation))


def outlet() -> list[str]:
    """The arguments that every worker has: where it leaves its report, and tells how far it is."""
    return ["--report", names.REPORT_PATH, "--listen", f"$(POD_IP):{names.PROGRESS_PORT}"]


def render(prime: Object, job: Job, outfit: Outfit = OF_ONE_MACHINE, wishes: Wishes = NOTHING) -> Object:
    """The pod that fills a prime."""
    pod = bare(prime, f"{job.prefix}{name_of(prime)}", job, outfit, wishes)
    pod["metadata"]["annotations"][names.PRIME_FOR] = str(target_of(prime))
    pod["spec"]["volumes"].append({"name": _DATA, "persistentVolumeClaim": {"claimName": name_of(prime)}})
    (container,) = pod["spec"]["containers"]
    if is_block(prime):
        container.setdefault("volumeDevices", []).append({"name": _DATA, "devicePath": names.DEVICE_PATH})
    else:
        container["volumeMounts"].append({"name": _DATA, "mountPath": names.DATA_PATH})
    return pod


def bare(owner: Object, name: str, job: Job, outfit: Outfit = OF_ONE_MACHINE, wishes: Wishes = NOTHING) -> Object:
    """The pod of a job that fills nothing, controlled by the owner."""
    labels = {**names.APP_LABELS, names.COMPONENT: job.component, **({names.TRANSFER: "true"} if job.transfer else {})}
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace_of(owner),
            "labels": labels,
            "annotations": {**_ALONE, **job.annotations},
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "terminationGracePeriodSeconds": _GRACE_SECONDS,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": outfit.security_context(),
            "containers": [_container(job, outfit.image, wishes)],
            "volumes": [
                {"name": _STATE, "emptyDir": {"sizeLimit": written(job.aside + _NOTES)}},
                *({"name": name, **mount.source} for name, mount in job.mounts.items()),
            ],
            **({"priorityClassName": job.priority} if job.priority else {}),
            **({"imagePullSecrets": wishes.pull_secrets} if wishes.pull_secrets else {}),
        },
    }
    set_controller_reference(pod, owner)
    return pod


def _container(job: Job, image: str, wishes: Wishes) -> Object:
    mounts = [
        {"name": name, "mountPath": mount.path, "readOnly": True}
        for name, mount in job.mounts.items()
        if not mount.is_device
    ]
    devices = [{"name": name, "devicePath": mount.path} for name, mount in job.mounts.items() if mount.is_device]
    address = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["worker", *job.args],
        "env": [address, *({"name": name, "value": literal(value)} for name, value in job.environment.items())],
        "resources": wishes.resources(_RESOURCES),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePath": names.REPORT_PATH,
        "volumeMounts": [{"name": _STATE, "mountPath": names.STATE_PATH}, *mounts],
        **({"volumeDevices": devices} if devices else {}),
    }


def literal(text: str) -> str:
    """Text for the arguments and variables of a container, in which $(NAME) and $$ would be something else."""
    return text.replace("$", "$$")


async def ensure(means: Means, prime: Object, job: Job) -> Object:
    """The pod that fills a prime as the server has it, made if it is not there. Raises Hindered where it cannot be."""
    return await made(means.client, prime, render(prime, job, means.outfit, means.wishes))


async def made(client: Client, owner: Object, wanted: Object) -> Object:
    """A pod of that owner as the server has it, made if it is not there. Raises Hindered where it cannot be."""
    try:
        return await client.create(PODS, wanted)
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise not_made(f'pod "{key_of(wanted)}"', error) from error
    found = await live(client, PODS, name_of(wanted), namespace_of(wanted))
    if found is not None and is_owned(found, owner) and _is_followed(found, wanted) and not is_deleting(found):
        return found
    raise in_the_way(f'pod "{key_of(wanted)}"', gone=found is None or is_deleting(found))


def _is_followed(found: Object, wanted: Object) -> bool:
    """Whether a pod has the labels by which caches and the gate would know the one that is wanted: a place that was
    given to one that they never hear of would be lost."""
    labels, expected = found["metadata"].get("labels") or {}, wanted["metadata"]["labels"]
    return all(name in labels for name in (names.COMPONENT, names.TRANSFER) if name in expected)


def of_prime(pods: Cache, prime: Object, prefix: str) -> Object | None:
    """The pod that fills a prime. It has one name: anybody may make others, here or elsewhere, that call it theirs."""
    found = pods.get(Key(namespace_of(prime), f"{prefix}{name_of(prime)}"))
    return found if found is not None and is_owned(found, prime) else None


def priority_of(target: Object) -> str:
    """The priority class that a claim asks for the pods that fill it."""
    return annotation(target, names.PRIORITY_CLASS)
