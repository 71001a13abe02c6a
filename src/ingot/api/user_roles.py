"""All roles of those who use namespaces: of machines, volumes and templates."""

from collections.abc import Iterator

from ingot.api.cdi import roles as volume_roles
from ingot.api.kubevirt import roles as machine_roles
from ingot.api.object import Object
from ingot.api.template import roles as template_roles

_ALL = (machine_roles, volume_roles, template_roles)


def cluster_roles() -> Iterator[Object]:
    return (role for each in _ALL for role in each.cluster_roles())


def cluster_role_bindings() -> Iterator[Object]:
    return (binding for each in _ALL for binding in each.cluster_role_bindings())
