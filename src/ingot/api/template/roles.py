"""Who may do what with templates: roles that the cluster's own admin, edit and view gather."""

from ingot.api.object import Object
from ingot.api.resources import PROCESSED_TEMPLATES, TEMPLATES
from ingot.api.role import ADMIN, EDIT, READ, cluster_role, rule

_OWNER = TEMPLATES.group


def cluster_roles() -> list[Object]:
    """Those who edit may write templates and have them filled in; those who view may look at them, as on OpenShift."""
    filling = rule(_OWNER, [PROCESSED_TEMPLATES.plural], ("create",))
    return [
        cluster_role(_OWNER, "admin", [rule(_OWNER, [TEMPLATES.plural], ADMIN), filling], gathered=True),
        cluster_role(_OWNER, "edit", [rule(_OWNER, [TEMPLATES.plural], EDIT), filling], gathered=True),
        cluster_role(_OWNER, "view", [rule(_OWNER, [TEMPLATES.plural], READ)], gathered=True),
    ]


def cluster_role_bindings() -> list[Object]:
    """Nobody has more than their own roles give them."""
    return []
