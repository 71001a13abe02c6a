"""Who may do what with machines and their snapshots: roles that the cluster's own admin, edit and view gather."""

from collections.abc import Sequence

from ingot.api.kubevirt import rights, subresources
from ingot.api.object import Object
from ingot.api.resources import MACHINE_RESTORES, MACHINE_SNAPSHOT_CONTENTS, MACHINE_SNAPSHOTS
from ingot.api.role import ADMIN, EDIT, READ, bound_to, cluster_role, rule

_OWNER = "kubevirt.io"


def cluster_roles() -> list[Object]:
    """Those who edit may start machines and sit at their consoles; those who view may only look at the objects.

    Nobody gathers the roles that reach into the node: an administrator binds them to whom they trust with it. Nor
    does anybody write what snapshots hold: a restore makes a machine of it in Ingot's own name.
    """
    acts = [_acts("get"), _acts("update")]
    return [
        cluster_role(_OWNER, "admin", [*acts, *_kinds(ADMIN, ("delete", "deletecollection"))], gathered=True),
        cluster_role(_OWNER, "edit", [*acts, *_kinds(EDIT, ("delete",))], gathered=True),
        cluster_role(_OWNER, "view", _kinds(READ, ()), gathered=True),
        cluster_role(_OWNER, "default", [rule(subresources.GROUP, ["version"], ("get", "list"))]),
        *(
            cluster_role(_OWNER, resource, [rule(rights.GROUP, [resource], (rights.VERB,))])
            for resource in (rights.HOST_DISKS, rights.HOST_PROCESSES)
        ),
    ]


def cluster_role_bindings() -> list[Object]:
    """Everybody may ask for the version, as clients do before all else."""
    return [bound_to(_OWNER, "default", "system:authenticated", "system:unauthenticated")]


def _acts(verb: str) -> Object:
    named = [
        f"{plural}/{act}"
        for plural, acts in subresources.ACTS.items()
        for act, its_verb in acts.items()
        if its_verb == verb
    ]
    return rule(subresources.GROUP, named, (verb,))


def _kinds(verbs: Sequence[str], of_contents: Sequence[str]) -> list[Object]:
    return [
        rule("kubevirt.io", rights.MACHINES, verbs),
        rule(MACHINE_SNAPSHOTS.group, [MACHINE_SNAPSHOTS.plural, MACHINE_RESTORES.plural], verbs),
        rule(MACHINE_SNAPSHOT_CONTENTS.group, [MACHINE_SNAPSHOT_CONTENTS.plural], (*READ, *of_contents)),
    ]
