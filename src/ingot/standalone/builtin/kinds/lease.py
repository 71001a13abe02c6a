"""Lease."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME


def default(obj: Object) -> None:
    # Fields of coordinated leader election, which release 1.32 knows and drops unless it is switched on.
    for key in ("preferredHolder", "strategy"):
        obj["spec"].pop(key, None)


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        causes.append(
            fields.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        )
    causes += fields.not_negative("spec.leaseTransitions", spec.get("leaseTransitions", 0))
    return causes


LEASE = define(
    "io.k8s.api.coordination.v1.Lease",
    "leases",
    namespaced=True,
    default=default,
    validate=validate,
    columns=(
        NAME,
        Column("Holder", lambda obj: obj["spec"].get("holderIdentity", ""), description="Who holds it."),
        AGE,
    ),
    create_on_update=True,
    unconditional_update=False,
)
