"""With the rights that deploy/controllers.yaml gives them, and no others, controllers bring golden images about."""

from dataclasses import replace
from pathlib import Path

import yaml

from control.golden_world import at_work
from control.world import World
from eventual import eventually
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import (
    DATA_IMPORT_CRONS,
    HYPERCONVERGEDS,
    NAMESPACES,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
    SSPS,
    TEMPLATES,
)
from ingot.control.golden.hyperconverged import HyperConvergeds
from ingot.control.golden.ssp import SSPs
from ingot.kube.client import Client
from ingot.kube.kubeconfig import Config, Material
from ingot.kube.objects import is_true

DEPLOYED = Path(__file__).parents[2] / "deploy" / "controllers.yaml"
_CLUSTER = {"group": ROLES.group, "version": "v1", "namespaced": False}
KINDS = {
    each.kind: each
    for each in (
        NAMESPACES,
        SERVICE_ACCOUNTS,
        ROLES,
        ROLE_BINDINGS,
        Resource(plural="clusterroles", kind="ClusterRole", **_CLUSTER),
        Resource(plural="clusterrolebindings", kind="ClusterRoleBinding", **_CLUSTER),
    )
}


async def account(client: Client) -> Config:
    """The way in of the controllers' own account."""
    deployed = list(yaml.safe_load_all(DEPLOYED.read_text()))
    for obj in deployed:
        if obj["kind"] in KINDS:
            await client.apply(KINDS[obj["kind"]], obj, "test", force=True)
    own: Object = next(each for each in deployed if each["kind"] == "ServiceAccount")
    asked = {"metadata": own["metadata"], "spec": {}}

    async def given() -> Object:
        return await client.create(SERVICE_ACCOUNTS, asked, name=name_of(own), subresource="token")

    token = Material(data=(await eventually(given))["status"]["token"].encode())
    assert namespace_of(own)
    return replace(client.transport.config, certificate=None, key=None, token=token)


async def test_all_of_it_comes_and_goes(bare: World) -> None:
    async with (
        Client.connect(await account(bare.client)) as client,
        at_work(bare, HyperConvergeds, SSPs, client=client) as golden,
    ):
        spec = {"enableCommonBootImageImport": True, "commonBootImageNamespace": golden.hidden}
        await golden.create(HYPERCONVERGEDS, {"metadata": {"name": "hco"}, "spec": spec})
        await golden.until(HYPERCONVERGEDS, "hco", lambda each: is_true(each, "Available"))
        assert len(await golden.made(DATA_IMPORT_CRONS)) == 4
        await golden.images.until(ROLE_BINDINGS, "os-images.kubevirt.io:view", bool)
        await golden.client.delete(HYPERCONVERGEDS, "hco", golden.namespace)
        await golden.gone(SSPS, "ssp-hco")
        assert await golden.made(DATA_IMPORT_CRONS) == []
        await golden.gone(TEMPLATES, "fedora-server-small")
