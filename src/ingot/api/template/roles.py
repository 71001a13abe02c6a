"""Who may do what with templates: roles that the cluster's own admin, edit and view gather."""

from ingot.api.object import Object
from ingot.api.resources import PROCESSED_TEMPLATES, TEMPLATES
from ingot.api.role import ADMIN, EDIT, RBAC, READ, cluster_role, rule

_OWNER = TEMPLATES.group


def cluster_roles() -> list[Object]:
    """Those who edit may write templates; those who view may look at them, as on OpenShift."""
    return [
        cluster_role(_OWNER, "admin", [rule(_OWNER, [TEMPLATES.plural], ADMIN)], gathered=True),
        cluster_role(_OWNER, "edit", [rule(_OWNER, [TEMPLATES.plural], EDIT)], gathered=True),
        cluster_role(_OWNER, "view", [rule(_OWNER, [TEMPLATES.plural], READ)], gathered=True),
    ]


def filling_role() -> Object:
    """Those who edit may have templates filled in, by a server that does so: OpenShift brings this along, and on other
    clusters nobody answers at that address."""
    made = cluster_role(_OWNER, "fill", [rule(_OWNER, [PROCESSED_TEMPLATES.plural], ("create",))])
    made["metadata"]["labels"][f"{RBAC}/aggregate-to-edit"] = "true"
    return made


def cluster_role_bindings() -> list[Object]:
    """Nobody has more than their own roles give them."""
    return []
