"""Ingot on a real cluster: its CRDs and webhooks as deploy/ has them, and `ingot webhook` as a process on loopback."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import trustme
import yaml

from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from kube.server import Server

DEPLOY = Path(__file__).parents[2] / "deploy"
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
ADMISSION = "admissionregistration.k8s.io"
CONFIGURATIONS = {
    kind: Resource(ADMISSION, "v1", f"{kind.lower()}s", kind, namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}
CRONS = Resource("cdi.kubevirt.io", "v1beta1", "dataimportcrons", "DataImportCron")
EFFECT_TIMEOUT = 30.0


class Webhooks(Server):
    """`ingot webhook` while the context is open. It may be entered again, on the same port."""

    def __init__(self, directory: Path, kubeconfig: Path) -> None:
        """`kubeconfig` is how it asks the cluster for the rights of users."""
        self._authority = trustme.CA()
        issued = self._authority.issue_cert("127.0.0.1")
        certificate, key = directory / "tls.crt", directory / "tls.key"
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        issued.private_key_pem.write_to_path(str(key))
        files = ["--certificate", str(certificate), "--key", str(key), "--kubeconfig", str(kubeconfig)]
        super().__init__(["webhook", *files], directory / "webhook.log")

    def _trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        self._authority.configure_trust(context)
        return context

    def reached(self, manifest: Any) -> Any:
        """The manifest with this process in place of the service: no service has an address in the tests."""
        if isinstance(manifest, list):
            return [self.reached(each) for each in manifest]
        if not isinstance(manifest, dict):
            return manifest
        made = {key: self.reached(value) for key, value in manifest.items()}
        if isinstance(service := manifest.get("clientConfig", {}), dict) and "service" in service:
            bundle = base64.b64encode(self._authority.cert_pem.bytes()).decode()
            made["clientConfig"] = {"url": self.url + service["service"]["path"], "caBundle": bundle}
        return made


async def install(client: Client, webhooks: Webhooks) -> None:
    """Applies deploy/ as it is, but for where the webhooks are. All of it is in effect on return."""
    crds = [webhooks.reached(manifest) for manifest in manifests(DEPLOY.glob("crds/*.yaml"))]
    for crd in crds:
        await client.apply(CRDS, crd, "installation")
    for manifest in manifests([DEPLOY / "webhooks.yaml"]):
        await client.apply(CONFIGURATIONS[manifest["kind"]], webhooks.reached(manifest), "installation")
    for crd in crds:
        await _until(partial(_established, client, name_of(crd)))
    await _until(partial(_asked, client))


def manifests(files: Iterable[Path]) -> Iterator[Object]:
    """The objects in files of YAML."""
    for file in sorted(files):
        yield from yaml.load_all(file.read_text(), yaml.CSafeLoader)


async def _until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(EFFECT_TIMEOUT):
        while True:
            if await reached():
                return
            await asyncio.sleep(0.02)


async def _established(client: Client, name: str) -> bool:
    status = (await client.get(CRDS, name)).get("status", {})
    return any(each["type"] == "Established" and each["status"] == "True" for each in status.get("conditions") or ())


async def _asked(client: Client) -> bool:
    """Whether the cluster asks both webhooks by now: an old shape is rewritten, and a bad schedule refused."""
    spec = {"source": {"registry": {"url": "docker://here/it"}}, "schedule": "0 0 * * *", "managedDataSource": "it"}
    cron: Object = {
        "apiVersion": CRONS.api_version,
        "kind": CRONS.kind,
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": spec,
    }
    made: Object = {"spec": {}}
    try:
        made = await client.create(CRONS, cron, dry_run=True)
        await client.create(CRONS, {**cron, "spec": {**spec, "schedule": "soon"}}, dry_run=True)
    except ApiError as error:
        return error.code == 422 and "template" in made["spec"]
    return False
