"""The launcher pod: it stands for a machine towards the scheduler and the kubelet, and holds its claims on the node."""

from collections.abc import Mapping
from typing import Any

from ingot.api.kubevirt import names
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.control import footprint, usages
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.kube.objects import set_controller_reference

# KubeVirt's label of the pods of a machine, by the machine's name.
MACHINE_NAME = "vm.kubevirt.io/name"
_ARCHITECTURE = "kubernetes.io/arch"
_LABEL_LENGTH = 63

_PRIVATE_PATH = "/var/run/ingot/private"
# It ends when the agent opens and closes the pipe: neither a signal nor an end of its own may come before the guest's.
_WAIT = 'trap "" TERM; mkfifo -m 600 "$0"; exec cat "$0"'

# How much longer than its guest a launcher has: the guest is shut down first, and then its disks are let go.
_GRACE_SECONDS = 30
_EXTRA_SECONDS = 15

# Said of the instance, not of its pod.
_OWN_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    names.MACHINE_GENERATION,
    names.TEMPLATE_DIGEST,
)
_PASSED_ON = (
    "affinity",
    "dnsConfig",
    "dnsPolicy",
    "hostname",
    "priorityClassName",
    "schedulerName",
    "serviceAccountName",
    "subdomain",
    "tolerations",
    "topologySpreadConstraints",
)


def launcher(instance: Object, claims: Mapping[str, Object], outfit: Outfit = OF_ONE_MACHINE) -> Object:
    """The pod of an instance. `claims` are the PersistentVolumeClaims that the kubelet mounts, by volume name."""
    spec = instance["spec"]
    grace = spec.get("terminationGracePeriodSeconds", _GRACE_SECONDS)
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(instance),
        "spec": {
            **{field: spec[field] for field in _PASSED_ON if spec.get(field)},
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": grace + _EXTRA_SECONDS,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
            "nodeSelector": _node_selector(spec),
            "containers": [_container(spec, claims, outfit.image)],
            "volumes": [{"name": names.PRIVATE_VOLUME, "emptyDir": {}}, *_volumes(spec, claims)],
        },
    }
    set_controller_reference(pod, instance)
    return pod


def _metadata(instance: Object) -> Object:
    given = instance["metadata"]
    labels = {
        **(given.get("labels") or {}),
        names.APP: names.LAUNCHER,
        names.CREATED_BY: uid_of(instance),
        MACHINE_NAME: name_of(instance),
    }
    annotations = {key: text for key, text in (given.get("annotations") or {}).items() if key not in _OWN_ANNOTATIONS}
    return {
        "name": names.launcher_name(instance),
        "namespace": namespace_of(instance),
        "labels": {key: text for key, text in labels.items() if len(text) <= _LABEL_LENGTH},
        "annotations": {
            **annotations,
            names.DOMAIN: name_of(instance),
            "kubectl.kubernetes.io/default-container": names.COMPUTE,
        },
    }


def _node_selector(spec: Object) -> dict[str, str]:
    selector = {**(spec.get("nodeSelector") or {}), names.SCHEDULABLE: "true"}
    if architecture := spec.get("architecture"):
        selector[_ARCHITECTURE] = architecture
    return selector | {names.usage_label(usage): "true" for usage in usages.wanted(spec)}


def _container(spec: Object, claims: Mapping[str, Object], image: str) -> Object:
    mounts: list[Object] = [{"name": names.PRIVATE_VOLUME, "mountPath": _PRIVATE_PATH}]
    devices: list[Object] = []
    for volume, claim in claims.items():
        if is_block(claim):
            devices.append({"name": volume, "devicePath": f"{names.DEVICES_PATH}/{volume}"})
        else:
            mounts.append({"name": volume, "mountPath": f"{names.DISKS_PATH}/{volume}"})
    container: dict[str, Any] = {
        "name": names.COMPUTE,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _WAIT, f"{_PRIVATE_PATH}/{names.END_PIPE}"],
        "resources": footprint.resources(spec),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": mounts,
    }
    return container | ({"volumeDevices": devices} if devices else {})


def _volumes(spec: Object, claims: Mapping[str, Object]) -> list[Object]:
    found = []
    for volume in spec.get("volumes") or ():
        if claim := claims.get(volume["name"]):
            source: Object = {"claimName": name_of(claim)}
            if _is_read_only(volume):
                source["readOnly"] = True
            found.append({"name": volume["name"], "persistentVolumeClaim": source})
    return found


def is_block(claim: Object) -> bool:
    return bool(claim["spec"].get("volumeMode") == "Block")


def _is_read_only(volume: Object) -> bool:
    source = volume.get("persistentVolumeClaim") or (volume.get("ephemeral") or {}).get("persistentVolumeClaim") or {}
    return bool(source.get("readOnly"))
