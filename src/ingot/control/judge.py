"""What a cluster asks before it stores an object of ours: is it right, may it be beside what is there, and has the user
the rights that it demands?

On one machine the API server does the same itself.
"""

from ingot.api import registry, rights
from ingot.api.cdi import surroundings
from ingot.api.lookup import Lookup, T
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_VOLUMES
from ingot.api.status import ApiError, forbidden
from ingot.kube.access import allowed
from ingot.kube.client import Client
from ingot.kube.webhook import AdmissionRequest, Review, validating

# May do everything on every cluster, whatever its roles say.
_MASTERS = "system:masters"


def judge(client: Client | None) -> Review:
    """Reviews objects for `ingot webhook`. Without a client nobody can be asked for the rights of users, nor
    what there is; the controller of DataVolumes looks again."""
    validate = validating(registry.validate)

    async def review(request: AdmissionRequest) -> list[Object]:
        await validate(request)
        await _check_rights(client, request)
        await _check_surroundings(client, request)
        return []

    return review


async def _check_rights(client: Client | None, request: AdmissionRequest) -> None:
    info = registry.find(request.kind.group, request.kind.kind)
    if info is None or info.crd_name not in rights.KINDS or request.object is None:
        return
    if _MASTERS in (request.user_info.get("groups") or ()):
        return
    stored = info.stored.name
    new = registry.convert(request.object, stored)
    old = registry.convert(request.old_object, stored) if request.old_object else None
    target = (info.group, info.plural, request.name or name_of(new))
    for demand in await _answered(client, rights.demands(info.crd_name, new, old, request.namespace)):
        if client is None:
            why = (
                f"{demand.what}, and this `ingot webhook` cannot ask who may: run it with --kubeconfig, or in a pod "
                f"with a service account; {demand.instead} needs no such right"
            )
            raise forbidden(*target, why)
        if not await allowed(client, request.user_info, demand.attributes()):
            raise demand.refusal(*target, str(request.user_info.get("username", "")))


async def _answered(client: Client | None, lookup: Lookup[T]) -> T:
    seen: Object | None = None
    while True:
        try:
            wanted = lookup.send(seen)
        except StopIteration as end:
            answer: T = end.value
            return answer
        seen = await _found(client, *wanted) if client else None


async def _check_surroundings(client: Client | None, request: AdmissionRequest) -> None:
    made, kind = request.object, (request.kind.group, request.kind.kind)
    if client is None or made is None or request.operation != "CREATE" or request.sub_resource:
        return
    if kind == (DATA_VOLUMES.group, DATA_VOLUMES.kind):
        await _answered(client, surroundings.check(made, request.namespace))


async def _found(client: Client, resource: Resource, namespace: str, name: str) -> Object | None:
    try:
        return await client.get(resource, name, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        return None
