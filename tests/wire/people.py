"""Who administers the cluster, and the account of a tenant who edits one namespace of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

import pytest

from eventual import eventually
from ingot.api import user_roles
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.api.template.roles import filling_role
from ingot.kube.client import Client, Patch
from ingot.kube.kubeconfig import Material, load
from ingot_up import IngotUp
from wire.kinds import CLUSTER_ROLES, NAMESPACES, ROLE_BINDINGS, ROLES, SERVICE_ACCOUNTS


@dataclass
class People:
    """Clients of both, and the tenant's namespace."""

    admin: Client
    tenant: Client
    namespace: str

    async def grant(self, role: str, namespace: str = "", kind: str = "ClusterRole") -> None:
        """Binds the tenant to a role, in the tenant's namespace unless told."""
        subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": self.namespace}
        reference = {"apiGroup": ROLES.group, "kind": kind, "name": role}
        metadata = {"name": role.replace(":", "-"), "namespace": namespace or self.namespace}
        await self.admin.create(ROLE_BINDINGS, {"metadata": metadata, "roleRef": reference, "subjects": [subject]})

    def placed(self, obj: Object) -> Object:
        return {**obj, "metadata": {"name": "it", "namespace": self.namespace}}

    async def create(self, kind: Resource, obj: Object) -> Object:
        return await self.tenant.create(kind, self.placed(obj))

    async def patch(self, kind: Resource, patch: Object, how: Patch = Patch.MERGE) -> Object:
        return await self.tenant.patch(kind, "it", patch, self.namespace, kind=how)

    async def refused(self, kind: Resource, obj: Object) -> str:
        """Why the tenant may not create the object."""
        with pytest.raises(ApiError) as caught:
            await self.create(kind, obj)
        assert (caught.value.code, caught.value.reason) == (403, "Forbidden")
        return caught.value.message


@asynccontextmanager
async def people_of(server: IngotUp) -> AsyncIterator[People]:
    """The two of them, with a new namespace for the tenant."""
    config, namespace = load(server.kubeconfig), f"rights-{uuid4().hex[:8]}"
    async with Client.connect(config, on_warning=lambda _: None) as admin:
        await admin.create(NAMESPACES, {"metadata": {"name": namespace}})
        # `ingot up` brings these along, but not the server alone.
        for role in (*user_roles.cluster_roles(), filling_role()):
            await admin.apply(CLUSTER_ROLES, role, "test", force=True)
        await eventually(lambda: admin.get(SERVICE_ACCOUNTS, "default", namespace))
        account = {"metadata": {"name": "tenant", "namespace": namespace}}
        await admin.create(SERVICE_ACCOUNTS, account)
        given = await admin.create(SERVICE_ACCOUNTS, {**account, "spec": {}}, name="tenant", subresource="token")
        token = Material(data=given["status"]["token"].encode())
        async with Client.connect(replace(config, certificate=None, key=None, token=token)) as tenant:
            both = People(admin, tenant, namespace)
            await both.grant("edit")
            yield both
