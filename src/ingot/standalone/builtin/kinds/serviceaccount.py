"""ServiceAccount."""

from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME

SERVICE_ACCOUNT = define(
    "io.k8s.api.core.v1.ServiceAccount",
    "serviceaccounts",
    namespaced=True,
    columns=(
        NAME,
        Column("Secrets", lambda obj: len(obj.get("secrets") or ()), description="How many secrets it may use."),
        AGE,
    ),
    short_names=("sa",),
    subresources=frozenset({"token"}),
    returns_deleted=True,
)
