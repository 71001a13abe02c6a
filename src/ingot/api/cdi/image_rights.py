"""Who may clone golden images: everybody whom the cluster knows, in the namespaces that are opened for it (G10)."""

from ingot.api.cdi.clone_rights import SUBRESOURCE, VERB
from ingot.api.object import Object
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    DATA_SOURCES,
    DATA_VOLUMES,
    ROLE_BINDINGS,
    ROLES,
    SNAPSHOTS,
    VOLUME_CLAIMS,
)
from ingot.api.role import RBAC, READ, rule

# As the operator of common templates calls it.
NAME = "os-images.kubevirt.io:view"
EVERYBODY = "system:authenticated"


def role(namespace: str) -> Object:
    """May see golden images and clone them. No Secret, no pod and no log is opened by it, as `view` would."""
    kinds = [each.plural for each in (DATA_SOURCES, DATA_IMPORT_CRONS, DATA_VOLUMES)]
    return {
        **_head(ROLES.kind, namespace),
        "rules": [
            rule(DATA_VOLUMES.group, kinds, READ),
            rule(DATA_VOLUMES.group, [f"{DATA_VOLUMES.plural}/{SUBRESOURCE}"], (VERB,)),
            rule(VOLUME_CLAIMS.group, [VOLUME_CLAIMS.plural], READ),
            rule(SNAPSHOTS.group, [SNAPSHOTS.plural], READ),
            # So whoever may not open the namespace sees that it is open.
            {**rule(RBAC, [ROLE_BINDINGS.plural], ("get",)), "resourceNames": [NAME]},
        ],
    }


def binding(namespace: str) -> Object:
    """The role, for whoever the server knows."""
    return {
        **_head(ROLE_BINDINGS.kind, namespace),
        "roleRef": {"apiGroup": RBAC, "kind": ROLES.kind, "name": NAME},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": EVERYBODY}],
    }


def _head(kind: str, namespace: str) -> Object:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": NAME, "namespace": namespace}}
