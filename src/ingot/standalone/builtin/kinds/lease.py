"""Lease."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone.builtin import fields
from ingot.standalone.builtin.kinds.kind import AGE, define
from ingot.standalone.resources.definition import Column
from ingot.standalone.table.render import NAME


def validate(new: Object, old: Object | None) -> list[Cause]:
    spec = new["spec"]
    causes = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        causes.append(
            fields.invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
        )
    causes += fields.not_negative("spec.leaseTransitions", spec.get("leaseTransitions", 0))
    if spec.get("preferredHolder") and not spec.get("strategy"):
        causes.append(fields.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return causes


LEASE = define(
    "io.k8s.api.coordination.v1.Lease",
    "leases",
    namespaced=True,
    validate=validate,
    columns=(
        NAME,
        Column("Holder", lambda obj: obj["spec"].get("holderIdentity", ""), description="Who holds it."),
        AGE,
    ),
    create_on_update=True,
    unconditional_update=False,
)
