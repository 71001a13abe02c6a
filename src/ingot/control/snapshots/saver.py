"""Savers and the claims that they hold: what is made so that a node can save disks as full copies."""

from collections.abc import Mapping

from ingot.api.cdi.size import with_overhead
from ingot.api.kubevirt.names import SCHEDULABLE
from ingot.api.object import Object, name_of, namespace_of, uid_of
from ingot.api.quantity import written
from ingot.api.resources import VOLUME_CLAIMS
from ingot.api.snapshot.saving import COPY, INSTANCE, SAVER, saved_volumes, saver_name
from ingot.control.outfit import OF_ONE_MACHINE, Outfit
from ingot.control.snapshots.words import source_labels
from ingot.control.volumes import worker
from ingot.control.volumes.claim import is_local
from ingot.control.volumes.marks import is_block
from ingot.kube.objects import copy_of, set_controller_reference

# Where a saver has what it holds: nothing in it looks there.
_TARGETS, _SOURCES, _SOURCE_DEVICES = "/data", "/source", "/dev/source"
# What places a machine, and so what looks for its disks while it does not run.
_PLACING = ("nodeSelector", "affinity", "tolerations", "schedulerName")
_CORDONED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}


def claim(content: Object, name: str, size: int, storage_class: Object) -> Object:
    """The claim for a full copy of a disk of that many bytes, controlled by the content."""
    room = size if is_local(storage_class) else with_overhead(size)
    made: Object = {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "metadata": {"name": name, "namespace": namespace_of(content), "labels": source_labels(content)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "storageClassName": name_of(storage_class),
            "resources": {"requests": {"storage": written(room)}},
        },
    }
    set_controller_reference(made, content)
    return made


def pod(
    content: Object,
    role: str,
    instance: Object | None,
    sources: Mapping[str, Object],
    outfit: Outfit = OF_ONE_MACHINE,
) -> Object:
    """The pod in that role: on the node of the instance, or without one where the machine could start.

    `sources` are the claims that the disks are read from and that the kubelet is to mount, by volume.
    """
    annotations = {INSTANCE: uid_of(instance) if instance else ""}
    mounts = {f"source-{index}": _mount(*each) for index, each in enumerate(sources.items())}
    job = worker.Job("", "", ["hold"], transfer=False, mounts=mounts, annotations=annotations)
    made = worker.bare(content, saver_name(content, role), job, outfit)
    made["metadata"]["labels"] = {SAVER: role, **source_labels(content)}
    made["spec"] |= _placed(content, instance)
    if role == COPY:
        _hold(made, saved_volumes(content))
    return made


def _mount(volume: str, source: Object) -> worker.Mount:
    claimed = {"persistentVolumeClaim": {"claimName": name_of(source), "readOnly": True}}
    block = is_block(source)
    return worker.Mount(claimed, f"{_SOURCE_DEVICES}-{volume}" if block else f"{_SOURCES}/{volume}", is_device=block)


def _hold(made: Object, targets: Mapping[str, str]) -> None:
    (container,) = made["spec"]["containers"]
    for index, (volume, claimed) in enumerate(targets.items()):
        name = f"target-{index}"
        made["spec"]["volumes"].append({"name": name, "persistentVolumeClaim": {"claimName": claimed}})
        container["volumeMounts"].append({"name": name, "mountPath": f"{_TARGETS}/{volume}"})


def _placed(content: Object, instance: Object | None) -> Object:
    spec = content["spec"]["source"]["virtualMachine"]["spec"]["template"]["spec"]
    placing = {field: copy_of(spec)[field] for field in _PLACING if spec.get(field)}
    if instance is None:
        return {**placing, "nodeSelector": {**placing.get("nodeSelector", {}), SCHEDULABLE: "true"}}
    fields = [{"key": "metadata.name", "operator": "In", "values": [instance["status"]["nodeName"]]}]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"affinity": affinity, "tolerations": [*placing.get("tolerations", ()), _CORDONED]}
