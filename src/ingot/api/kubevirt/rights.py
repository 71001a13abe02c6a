"""The right to reach into a node, which no right on objects brings: whoever reads its files may become its root.

On one machine the API server asks for it, on a cluster `ingot webhook` does. It is the verb `use` on a resource of
which there are no objects, in the object's namespace.
"""

from collections.abc import Iterator

from ingot.api.demand import Demand
from ingot.api.kubevirt.names import is_own_image
from ingot.api.kubevirt.parts import as_object, objects
from ingot.api.object import Object

GROUP, VERB = "ingot.io", "use"
HOST_DISKS, HOST_PROCESSES = "hostdisks", "hostprocesses"
# The plurals of the kinds that describe machines.
MACHINES = ("virtualmachines", "virtualmachineinstances", "virtualmachineinstancereplicasets", "classicvms")

# What Kubernetes' Pod Security calls baseline: with these a container stays one.
_HARMLESS = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)


def of_machine(new: Object, old: Object | None, namespace: str) -> Demand | None:
    """What the files of the node in a machine's volumes demand, beyond what `old` has just so.

    Both are in the stored version. How a file is used counts, too: what was given to be read is not to be written.
    """
    known = [use for _, use in _host_disks(old)] if old is not None else []
    fields = tuple(field for field, use in _host_disks(new) if use not in known)
    return _demand(HOST_DISKS, fields, "a persistentVolumeClaim", namespace) if fields else None


def _host_disks(obj: Object) -> Iterator[tuple[str, tuple[Object, list[Object]]]]:
    spec, path = as_object(obj.get("spec")), "spec"
    if "template" in spec:
        spec, path = as_object(as_object(spec["template"]).get("spec")), "spec.template.spec"
    disks = objects(as_object(as_object(spec.get("domain")).get("devices")).get("disks"))
    for number, volume in enumerate(objects(spec.get("volumes"))):
        if "hostDisk" in volume:
            field = f"{path}.volumes[{number}].hostDisk ({as_object(volume['hostDisk']).get('path')})"
            yield field, (volume, [disk for disk in disks if disk.get("name") == volume.get("name")])


def of_pod(new: Object, old: Object | None, namespace: str) -> Demand | None:
    """What the parts of a pod demand that are processes of the machine itself, or come close; on one machine only."""
    known = frozenset(_host_parts(old)) if old is not None else frozenset()
    fields = tuple(field for field in _host_parts(new) if field not in known)
    instead = "a container of another image with claims as volumes"
    return _demand(HOST_PROCESSES, fields, instead, namespace) if fields else None


def _demand(resource: str, fields: tuple[str, ...], instead: str, namespace: str) -> Demand:
    what = f"{', '.join(fields)} reaches into the node"
    return Demand(what=what, instead=instead, verb=VERB, group=GROUP, resource=resource, namespace=namespace)


def _host_parts(pod: Object) -> Iterator[str]:
    spec = as_object(pod.get("spec"))
    for number, volume in enumerate(objects(spec.get("volumes"))):
        if "hostPath" in volume:
            yield f"spec.volumes[{number}].hostPath ({as_object(volume['hostPath']).get('path')})"
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in enumerate(objects(spec.get(part))):
            yield from _host_powers(container, f"spec.{part}[{number}]")


def _host_powers(container: Object, path: str) -> Iterator[str]:
    if is_own_image(str(container.get("image", ""))):
        yield f"{path}.image (Ingot's own, a process without a container)"
    context = as_object(container.get("securityContext"))
    if context.get("privileged"):
        yield f"{path}.securityContext.privileged"
    for name in as_object(context.get("capabilities")).get("add") or ():
        if str(name).upper().removeprefix("CAP_") not in _HARMLESS:
            yield f"{path}.securityContext.capabilities.add ({name})"
