"""Who may do what with volumes: roles that the cluster's own admin, edit and view gather."""

from collections.abc import Sequence

from ingot.api.cdi import clone_rights
from ingot.api.object import Object
from ingot.api.resources import (
    CDI_CONFIGS,
    CLONE_SOURCES,
    DATA_SOURCES,
    DATA_VOLUMES,
    IMPORT_SOURCES,
    SNAPSHOTS,
    UPLOAD_SOURCES,
    UPLOAD_TOKEN_REQUESTS,
)
from ingot.api.role import ADMIN, EDIT, READ, bound_to, cluster_role, rule

_OWNER = "cdi.kubevirt.io"
_KINDS = (
    *(each.plural for each in (DATA_VOLUMES, DATA_SOURCES, IMPORT_SOURCES, UPLOAD_SOURCES, CLONE_SOURCES)),
    "dataimportcrons",
)
_READER = "config-reader"


def cluster_roles() -> list[Object]:
    """Those who edit a namespace may fill volumes in it; those who view it may clone from it, as with CDI.

    So golden images are opened by a binding to view: whoever may not see the content of a namespace's disks must not
    be given it.
    """
    cloning = rule(_OWNER, [f"{DATA_VOLUMES.plural}/{clone_rights.SUBRESOURCE}"], (clone_rights.VERB,))
    upload = rule(UPLOAD_TOKEN_REQUESTS.group, [UPLOAD_TOKEN_REQUESTS.plural], ("create",))
    config = rule(_OWNER, [CDI_CONFIGS.plural], READ)
    return [
        cluster_role(_OWNER, "admin", [*_kinds(ADMIN), cloning, upload], gathered=True),
        cluster_role(_OWNER, "edit", [*_kinds(EDIT), cloning, upload], gathered=True),
        cluster_role(_OWNER, "view", [*_kinds(READ), cloning, config], gathered=True),
        cluster_role(_OWNER, _READER, [config]),
    ]


def cluster_role_bindings() -> list[Object]:
    """Everybody who is known may ask where uploads go."""
    return [bound_to(_OWNER, _READER, "system:authenticated")]


def _kinds(verbs: Sequence[str]) -> list[Object]:
    return [rule(_OWNER, _KINDS, verbs), rule(SNAPSHOTS.group, [SNAPSHOTS.plural], verbs)]
