"""What a cluster asks before it stores an object of ours: is it right, and may the user reach into nodes?

On one machine the API server does the same itself.
"""

from ingot.api import registry
from ingot.api.kubevirt import rights
from ingot.api.object import Object, name_of
from ingot.api.status import forbidden
from ingot.kube.access import allowed
from ingot.kube.client import Client
from ingot.kube.webhook import AdmissionRequest, Review, validating

# May do everything on every cluster, whatever its roles say.
_MASTERS = "system:masters"


def judge(client: Client | None) -> Review:
    """Reviews objects for `ingot webhook`. Without a client nobody can be asked for the rights of users."""
    validate = validating(registry.validate)

    async def review(request: AdmissionRequest) -> list[Object]:
        await validate(request)
        await _check_rights(client, request)
        return []

    return review


async def _check_rights(client: Client | None, request: AdmissionRequest) -> None:
    info = registry.find(request.kind.group, request.kind.kind)
    if info is None or info.plural not in rights.MACHINES or request.object is None:
        return
    new, old = request.object, request.old_object
    stored = info.stored.name
    demand = rights.of_machine(registry.convert(new, stored), registry.convert(old, stored) if old else None)
    if demand is None or _MASTERS in (request.user_info.get("groups") or ()):
        return
    target = (info.group, info.plural, request.name or name_of(new))
    if client is None:
        why = (
            f"{', '.join(demand.fields)} reaches into the node, and this `ingot webhook` cannot ask who may: run it "
            f"with --kubeconfig, or in a pod with a service account; {demand.instead} needs no such right"
        )
        raise forbidden(*target, why)
    if not await allowed(client, request.user_info, demand.attributes(request.namespace)):
        raise demand.refusal(*target, str(request.user_info.get("username", "")), request.namespace)
