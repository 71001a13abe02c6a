"""Nobody reaches into the machine without the right to: the check on every write of machines and pods."""

from ingot.api.kubevirt import rights
from ingot.api.object import Object, name_of
from ingot.standalone.access.attributes import Attributes
from ingot.standalone.access.rbac import Authorizer
from ingot.standalone.access.user import User

MACHINES = tuple(f"{plural}.kubevirt.io" for plural in rights.MACHINES)
PODS = "pods"


def check(authorizer: Authorizer, user: User, request: Attributes, new: Object, old: Object | None) -> None:
    """Raises the 403 for an object that reaches further into the machine than `old` did, unless `user` may.

    The objects are in their stored version; `old` is None on create. Kinds other than machines and pods have
    nothing to do here.
    """
    demand = (rights.of_pod if request.resource == PODS else rights.of_machine)(new, old)
    if demand is None:
        return
    wanted = Attributes(rights.VERB, rights.GROUP, "*", demand.resource, namespace=request.namespace)
    if not authorizer.allowed(user, wanted).allowed:
        raise demand.refusal(request.group, request.resource, name_of(new), user.name, request.namespace)
