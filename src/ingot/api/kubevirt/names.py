"""Labels, annotations and finalizers that controllers, nodes and people find things by."""

from ingot.api.object import Object, uid_of

# KubeVirt's own, so that its users' habits and scripts go on working.
APP = "kubevirt.io"
LAUNCHER = "virt-launcher"
CREATED_BY = "kubevirt.io/created-by"
DOMAIN = "kubevirt.io/domain"
NODE_NAME = "kubevirt.io/nodeName"
SCHEDULABLE = "kubevirt.io/schedulable"
MACHINE_FINALIZER = "kubevirt.io/virtualMachineControllerFinalize"
INSTANCE_FINALIZER = "foregroundDeleteVirtualMachine"
# On an instance: the generation of the machine that it was made from, and a digest of that machine's template.
MACHINE_GENERATION = "kubevirt.io/vm-generation"
TEMPLATE_DIGEST = "ingot.io/template-digest"

# The node's agent holds an instance until nothing of it is left on the node.
NODE_FINALIZER = "ingot.io/node"
# On a Node: where its agent answers, unix:///path or https://host:port.
AGENT_ADDRESS = "ingot.io/agent-address"
_USAGE_LABEL = "usage-type.ingot.io/"

# A launcher pod: its one container, the volume that the agent and the launcher share, and the pipe in it that the
# launcher waits on. The launcher ends when the agent opens and closes the pipe: that is when the guest is gone.
COMPUTE = "compute"
# Ingot's own image: on one machine its containers are local processes.
LAUNCHER_IMAGE = "ingot"
# A machine's own volume is hardly called so.
PRIVATE_VOLUME = "ingot-private"
END_PIPE = "end"
# Where a volume is in the launcher: a directory below the first, or a device below the second.
DISKS_PATH = "/var/run/ingot/disks"
DEVICES_PATH = "/dev/ingot"

SYSTEM_NAMESPACE = "ingot"


def usage_label(usage: str) -> str:
    """The label of nodes that offer a usage type; its value is "true"."""
    return f"{_USAGE_LABEL}{usage}"


def is_usage_label(key: str) -> bool:
    return key.startswith(_USAGE_LABEL)


def offered_usages(node: Object) -> list[str]:
    """The usage types that a node offers, sorted."""
    labels = node["metadata"].get("labels") or {}
    return sorted(key.removeprefix(_USAGE_LABEL) for key in labels if key.startswith(_USAGE_LABEL))


def launcher_name(instance: Object) -> str:
    """The launcher pod of an instance: the same name for the same instance, another for its successor."""
    return f"{LAUNCHER}-{instance['metadata']['name']}-{uid_of(instance)[:5]}"


def is_own_image(image: str) -> bool:
    """Whether an image is Ingot's own, with any tag or digest: on one machine its programs need no container."""
    head, slash, tail = image.partition("@")[0].rpartition("/")
    return f"{head}{slash}{tail.partition(':')[0]}" == LAUNCHER_IMAGE
