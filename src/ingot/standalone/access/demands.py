"""Rights that objects demand of whoever writes them, beyond the right to write: asked for on every write."""

from ingot.api import rights
from ingot.api.demand import Demand
from ingot.api.kubevirt.rights import of_pod
from ingot.api.lookup import Read, answered
from ingot.api.object import Object, name_of
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.user import User

PODS = "pods"
KINDS = (*rights.KINDS, PODS)


def check(authorizer: Authorizer, user: User, request: Attributes, new: Object, old: Object | None, read: Read) -> None:
    """Raises the 403 for an object of KINDS that demands more than `old` did, unless `user` has the right.

    The objects are in their stored version; `old` is None on create.
    """
    for demand in _demands(request, new, old, read):
        wanted = Attributes(
            demand.verb, demand.group, "*", demand.resource, demand.subresource, demand.namespace, demand.name
        )
        if not authorizer.allowed(user, wanted).allowed:
            raise demand.refusal(request.group, request.resource, name_of(new), user.name)


def _demands(request: Attributes, new: Object, old: Object | None, read: Read) -> list[Demand]:
    if request.resource == PODS:
        demand = of_pod(new, old, request.namespace)
        return [demand] if demand else []
    return answered(rights.demands(f"{request.resource}.{request.group}", new, old, request.namespace), read)
