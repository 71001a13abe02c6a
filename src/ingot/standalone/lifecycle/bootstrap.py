"""What a new server starts with: namespaces, roles, the kinds of Ingot, and those that storage brings."""

import asyncio

from ingot.api import csi, registry, user_roles
from ingot.api.object import Object, name_of
from ingot.api.template.roles import filling_role
from ingot.standalone.access import bootstrap
from ingot.standalone.access.bindings import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from ingot.standalone.builtin.kinds.priorityclass import system_classes
from ingot.standalone.lifecycle.customs import KEY as CUSTOMS
from ingot.standalone.lifecycle.inside import Inside
from ingot.standalone.lifecycle.namespaces import FIRST
from ingot.standalone.objects.deletion import Options
from ingot.standalone.objects.world import World
from ingot.standalone.resources.definition import Definition
from ingot.standalone.schema.custom import established


async def furnish(world: World) -> None:
    """Creates what is missing; brings default roles and Ingot's own definitions up to this program's."""
    inside = Inside(world, "kube-apiserver")
    namespaces = world.catalog.known("namespaces")
    priorities = world.catalog.known("priorityclasses.scheduling.k8s.io")
    roles = world.catalog.known(CLUSTER_ROLES)
    bindings = world.catalog.known(CLUSTER_ROLE_BINDINGS)
    await asyncio.gather(
        *(inside.create(namespaces, {"metadata": {"name": name}}) for name in FIRST),
        *(_grant(inside, roles, role) for role in bootstrap.cluster_roles()),
        *(_grant(inside, bindings, binding) for binding in bootstrap.cluster_role_bindings()),
        *(inside.create(priorities, chosen) for chosen in system_classes()),
        *(_define(inside, crd) for crd in (*registry.crds(), *csi.crds())),
    )


async def admit_users(world: World) -> None:
    """Lets those who may edit a namespace run machines and fill volumes in it.

    On a cluster these roles come with the installation, but for what this server alone serves.
    """
    inside = Inside(world, "kube-apiserver")
    roles, bindings = world.catalog.known(CLUSTER_ROLES), world.catalog.known(CLUSTER_ROLE_BINDINGS)
    await asyncio.gather(
        *(_grant(inside, roles, role) for role in (*user_roles.cluster_roles(), filling_role())),
        *(_grant(inside, bindings, binding) for binding in user_roles.cluster_role_bindings()),
    )


async def _grant(inside: Inside, definition: Definition, wanted: Object) -> None:
    """Creates a default role or binding, or gives it back what it has lost, unless it says to keep hands off."""
    name = name_of(wanted)
    found = inside.read(definition, "", name)
    made = bootstrap.reconciled(found, wanted) if found else None
    if made is wanted:
        await inside.delete(definition, "", name, Options())
        found = None
    if found is None:
        await inside.create(definition, wanted)
    elif made is not None:
        await inside.change(definition, "", name, lambda _: made)


async def _define(inside: Inside, crd: Object) -> None:
    """Stores one of our own definitions as it is: to check what the tests have checked would be most of a start."""
    definition = inside.world.catalog.known(CUSTOMS)
    # Conversion happens in process here; the webhook in the definition is for a cluster.
    crd["spec"]["conversion"] = {"strategy": "None"}
    definition.default(crd)
    found = inside.read(definition, "", name_of(crd))
    if found is None or found["spec"] != crd["spec"]:
        crd["status"] = established(crd, [kind for kind in inside.world.catalog if kind.key != name_of(crd)])
        await inside.plant(definition, crd, found)
