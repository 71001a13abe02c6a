"""What storage drivers and nodes tell each other: CSIDriver, CSINode and VolumeAttachment."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.goprint import strings
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

NODE_ID_LIMIT = 256
_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_MODES = ("Persistent", "Ephemeral")


def driver_name(field: str, name: str) -> list[Cause]:
    """What is wrong with the name of a storage driver."""
    causes = [] if name else [fields.required(field)]
    if len(name) > 63:
        causes.append(fields.too_long(field, 63))
    return causes + fields.checked(field, name, lambda text: names.subdomain(text.lower()))


def _default_driver(obj: Object) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    for key in ("podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"):
        spec.setdefault(key, False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _validate_driver(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = []
    if spec["fsGroupPolicy"] not in _POLICIES:
        causes.append(fields.not_supported("spec.fsGroupPolicy", spec["fsGroupPolicy"], _POLICIES))
    for mode in spec["volumeLifecycleModes"]:
        if mode not in _MODES:
            causes.append(fields.not_supported("spec.volumeLifecycleModes", mode, _MODES))
    if old is not None:
        # Kubernetes itself misspells this path.
        if spec["attachRequired"] != old["spec"].get("attachRequired"):
            causes.append(fields.immutable("spec.attachedRequired", spec["attachRequired"]))
        if (modes := spec["volumeLifecycleModes"]) != old["spec"].get("volumeLifecycleModes"):
            causes.append(fields.immutable("spec.volumeLifecycleModes", strings(modes)))
    return causes


def _validate_node(new: Object, old: Object | None) -> list[Cause]:
    causes = []
    seen: set[str] = set()
    for index, driver in enumerate(new["spec"].get("drivers") or ()):
        path, name, node = f"spec.drivers[{index}]", driver.get("name", ""), driver.get("nodeID", "")
        causes += driver_name(f"{path}.name", name)
        if not node:
            causes.append(fields.required(f"{path}.nodeID"))
        if len(node) > NODE_ID_LIMIT:
            causes.append(fields.invalid(f"{path}.nodeID", node, f"must be {NODE_ID_LIMIT} characters or less"))
        causes += fields.not_negative(f"{path}.allocatable.count", nested(driver, "allocatable", "count") or 0)
        if name in seen:
            causes.append(fields.duplicate(f"{path}.name", name))
        seen.add(name)
        for key in driver.get("topologyKeys") or ():
            causes += fields.named(path, key, names.qualified)
    return causes


def _validate_attachment(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = fields.missing("spec", spec, "attacher")
    source = spec["source"]
    which = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    given = [key for key in ("inlineVolumeSpec", "persistentVolumeName") if key in source]
    if not given:
        causes.append(fields.required("spec.source", which))
    elif len(given) > 1:
        causes.append(fields.forbidden("spec.source", which))
    elif not source.get("persistentVolumeName", True):
        why = "must specify non empty persistentVolumeName"
        causes.append(fields.required("spec.source.persistentVolumeName", why))
    causes += fields.checked("spec.nodeName", spec.get("nodeName", ""), names.subdomain)
    causes += driver_name("spec.attacher", spec.get("attacher", ""))
    if old is not None and spec != old["spec"]:
        causes.append(fields.immutable("spec", spec.get("attacher", "")))
    return causes


def _flag(name: str, key: str, absent: bool, description: str) -> Column:
    return Column(name, lambda obj: obj["spec"].get(key, absent), "boolean", description=description)


def _audiences(obj: Object) -> str:
    requests = obj["spec"].get("tokenRequests")
    return "<unset>" if requests is None else ",".join(request.get("audience", "") for request in requests)


def _modes(obj: Object) -> str:
    return ",".join(obj["spec"].get("volumeLifecycleModes") or ()) or "<none>"


CSI_DRIVER = define(
    "io.k8s.api.storage.v1.CSIDriver",
    "csidrivers",
    namespaced=False,
    default=_default_driver,
    validate=_validate_driver,
    columns=(
        NAME,
        _flag("AttachRequired", "attachRequired", True, "Whether volumes are attached before they are mounted."),
        _flag("PodInfoOnMount", "podInfoOnMount", False, "Whether the driver is told of the pod."),
        _flag("StorageCapacity", "storageCapacity", False, "Whether the driver publishes capacity."),
        Column("TokenRequests", _audiences, description="For whom the driver asks pods' tokens."),
        _flag("RequiresRepublish", "requiresRepublish", False, "Whether mounts are refreshed."),
        Column("Modes", _modes, description="Persistent volumes, ephemeral ones, or both."),
        AGE,
    ),
    has_generation=True,
    unconditional_update=False,
    returns_deleted=True,
)

CSI_NODE = define(
    "io.k8s.api.storage.v1.CSINode",
    "csinodes",
    namespaced=False,
    validate=_validate_node,
    columns=(
        NAME,
        Column(
            "Drivers",
            lambda obj: len(obj["spec"].get("drivers") or ()),
            "integer",
            description="How many drivers the node has.",
        ),
        AGE,
    ),
    unconditional_update=False,
    returns_deleted=True,
)

VOLUME_ATTACHMENT = define(
    "io.k8s.api.storage.v1.VolumeAttachment",
    "volumeattachments",
    namespaced=False,
    validate=_validate_attachment,
    columns=(
        NAME,
        Column("Attacher", lambda obj: obj["spec"].get("attacher", ""), format="name", description="The driver."),
        Column(
            "PV", lambda obj: nested(obj, "spec", "source", "persistentVolumeName") or "", description="The volume."
        ),
        Column("Node", lambda obj: obj["spec"].get("nodeName", ""), description="Where it is to be attached."),
        Column(
            "Attached",
            lambda obj: bool(nested(obj, "status", "attached")),
            "boolean",
            description="Whether it is attached.",
        ),
        AGE,
    ),
    subresources=frozenset({"status"}),
    unconditional_update=False,
    returns_deleted=True,
)
