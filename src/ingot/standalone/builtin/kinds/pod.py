"""Pod."""

from ingot.standalone.builtin.kinds import poddefaults, podspec
from ingot.standalone.builtin.kinds.kind import define, is_set
from ingot.standalone.builtin.kinds.podcolumns import COLUMNS

POD = define(
    "io.k8s.api.core.v1.Pod",
    "pods",
    namespaced=True,
    default=poddefaults.default,
    validate=podspec.validate,
    columns=COLUMNS,
    short_names=("po",),
    categories=("all",),
    subresources=frozenset({"status", "binding", "eviction"}),
    selectable=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    selected=(("spec.hostNetwork", is_set("spec", "hostNetwork")),),
    returns_deleted=True,
)
