"""PriorityClass."""

from ingot.api.object import Object, name_of
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

HIGHEST = 1_000_000_000
SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_FOR = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved to "
    "another node if necessary.",
}
POLICIES = ("PreemptLowerPriority", "Never")


def system_classes() -> list[Object]:
    """The classes that every cluster has."""
    return [{"metadata": {"name": name}, "value": value, "description": _FOR[name]} for name, value in SYSTEM.items()]


def default(obj: Object) -> None:
    obj.setdefault("preemptionPolicy", POLICIES[0])


def validate(new: Object, old: Object | None) -> list[Cause]:
    if old is not None:
        return _changes(new, old)
    name, value = name_of(new), new["value"]
    causes = []
    if name.startswith("system-"):
        if SYSTEM.get(name) != value or new.get("globalDefault"):
            why = "priority class names with 'system-' prefix are reserved for system use only. error: "
            fault = f"{name} is not a known system priority class"
            causes.append(fields.forbidden("metadata.name", why + fault))
    elif value > HIGHEST:
        causes.append(fields.forbidden("value", f"maximum allowed value of a user defined priority is {HIGHEST}"))
    return causes + fields.one_of("preemptionPolicy", new["preemptionPolicy"], POLICIES)


def _changes(new: Object, old: Object) -> list[Cause]:
    causes = []
    if new["value"] != old["value"]:
        causes.append(fields.forbidden("value", "may not be changed in an update."))
    if new["preemptionPolicy"] != old["preemptionPolicy"]:
        causes.append(fields.immutable("preemptionPolicy", new["preemptionPolicy"]))
    return causes


PRIORITY_CLASS = define(
    "io.k8s.api.scheduling.v1.PriorityClass",
    "priorityclasses",
    namespaced=False,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Value", lambda obj: obj["value"], "integer", description="The priority of its pods."),
        Column(
            "Global-Default",
            lambda obj: obj.get("globalDefault", False),
            "boolean",
            description="Whether pods that name no class have this one.",
        ),
        AGE,
        Column(
            "PreemptionPolicy", lambda obj: obj["preemptionPolicy"], description="Whether its pods push others out."
        ),
    ),
    short_names=("pc",),
    first_generation=1,
)
