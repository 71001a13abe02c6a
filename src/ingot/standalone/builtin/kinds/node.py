"""Node."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import addresses, names
from ingot.standalone.builtin.kinds.kind import AGE, define, is_set
from ingot.standalone.patch.values import identity
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"


def default(obj: Object) -> None:
    spec, status = obj["spec"], obj["status"]
    if "allocatable" not in status and "capacity" in status:
        status["allocatable"] = dict(status["capacity"])
    # The single address range and the list of them are one fact.
    ranges = spec.get("podCIDRs") or [""]
    if spec.get("podCIDR", ranges[0]) != ranges[0]:
        spec["podCIDRs"] = [spec["podCIDR"]]
    elif ranges[0]:
        spec["podCIDR"] = ranges[0]


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = _taints(spec.get("taints") or ())
    for index, value in enumerate(spec.get("podCIDRs") or ()):
        causes += addresses.cidr(f"spec.podCIDRs[{index}]", value)
    return causes + (_changes(new, old) if old else [])


def _taints(taints: list[Object] | tuple[()]) -> list[Cause]:
    causes = []
    seen = set()
    for index, taint in enumerate(taints):
        # Kubernetes itself puts the taints below metadata in its messages.
        path, key, effect = f"metadata.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        causes += fields.checked(f"{path}.key", key, names.qualified)
        if faults := names.label_value(taint.get("value", "")):
            causes.append(fields.invalid(f"{path}.value", taint["value"], ";".join(faults)))
        causes += fields.one_of(f"{path}.effect", effect, EFFECTS)
        if (key, effect) in seen:
            cause = fields.duplicate(path, f"{key}:{effect}")
            why = "taints must be unique by key and effect pair"
            causes.append(Cause(path, f"{cause.message}: {why}", cause.reason))
        seen.add((key, effect))
    return causes


def _changes(new: Object, old: Object) -> list[Cause]:
    causes = []
    for key, path in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        before = old["spec"].get(key)
        if before and new["spec"].get(key) != before:
            why = f'node updates may not change {path} except from "" to valid'
            causes.append(fields.forbidden(f"spec.{key}", why))
    seen = set()
    for index, address in enumerate(new["status"].get("addresses") or ()):
        if identity(address) in seen:
            causes.append(fields.duplicate(f"status.addresses[{index}]", address.get("address", "")))
        seen.add(identity(address))
    return causes


def _status(obj: Object) -> str:
    ready = [item for item in nested(obj, "status", "conditions") or () if item.get("type") == "Ready"]
    words = [("Ready" if item.get("status") == "True" else "NotReady") for item in ready[-1:]] or ["Unknown"]
    return ",".join([*words, *(["SchedulingDisabled"] if obj["spec"].get("unschedulable") else [])])


def _roles(obj: Object) -> str:
    labels = obj["metadata"].get("labels") or {}
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE, ""))
    return ",".join(sorted(roles - {""})) or "<none>"


def _info(key: str, absent: str = "<unknown>") -> "Column":
    titles = {
        "kubeletVersion": "Version",
        "osImage": "OS-Image",
        "kernelVersion": "Kernel-Version",
        "containerRuntimeVersion": "Container-Runtime",
    }
    return Column(
        titles[key],
        lambda obj: nested(obj, "status", "nodeInfo", key) or absent,
        description=f"The node's {key}.",
        priority=0 if key == "kubeletVersion" else 1,
    )


def _address(kind: str) -> Column:
    def cell(obj: Object) -> str:
        found = (item["address"] for item in nested(obj, "status", "addresses") or () if item.get("type") == kind)
        return next(found, "<none>")

    return Column(kind.replace("IP", "-IP"), cell, priority=1, description=f"The node's {kind}.")


NODE = define(
    "io.k8s.api.core.v1.Node",
    "nodes",
    namespaced=False,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Status", _status, description="Whether it is ready for pods."),
        Column("Roles", _roles, description="What it is for."),
        AGE,
        _info("kubeletVersion", ""),
        _address("InternalIP"),
        _address("ExternalIP"),
        _info("osImage"),
        _info("kernelVersion"),
        _info("containerRuntimeVersion"),
    ),
    short_names=("no",),
    subresources=frozenset({"status"}),
    selectable=("spec.unschedulable",),
    selected=(("spec.unschedulable", is_set("spec", "unschedulable")),),
)
