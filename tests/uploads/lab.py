"""One namespace of a machine that takes uploads: volumes that wait, tokens, and the disks that came of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CDI_CONFIGS, DATA_VOLUMES, PODS, UPLOAD_TOKEN_REQUESTS, VOLUME_CLAIMS, VOLUMES
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.kube.kubeconfig import load
from ingot_up import WholeMachine
from kube.server import INGOT

ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


class Lab:
    """`directory` is the machine's; `trust` is a file with its authority, for curl."""

    def __init__(self, machine: WholeMachine, client: Client, namespace: str) -> None:
        self.machine = machine
        self.directory = machine.directory
        self.client = client
        self.namespace = namespace
        self.trust = machine.directory.parent / "authority.pem"

    async def volume(self, name: str, size: str = "64Mi", **spec: object) -> Object:
        """A DataVolume that waits for an upload, which is ready for it."""
        storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
        manifest = {
            "apiVersion": DATA_VOLUMES.api_version,
            "kind": DATA_VOLUMES.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"source": {"upload": {}}, "storage": storage, **spec},
        }
        await self.client.create(DATA_VOLUMES, manifest)
        return await self.phase(name, "UploadReady")

    async def phase(self, name: str, wanted: str) -> Object:
        """The DataVolume, when it has come to a phase."""

        async def look() -> Object | None:
            found = await self.client.get(DATA_VOLUMES, name, self.namespace)
            return found if found.get("status", {}).get("phase") == wanted else None

        try:
            return await eventually(look, 60)
        except AssertionError as error:
            pods = (await self.client.list(PODS, self.namespace))["items"]
            raise AssertionError(f"{error}\n{json.dumps([pod['status'] for pod in pods], indent=1)}") from error

    async def token(self, name: str, client: Client | None = None) -> str:
        request = {
            "apiVersion": UPLOAD_TOKEN_REQUESTS.api_version,
            "kind": UPLOAD_TOKEN_REQUESTS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"pvcName": name},
        }
        made = await (client or self.client).create(UPLOAD_TOKEN_REQUESTS, request)
        return str(made["status"]["token"])

    async def gives_tokens(self) -> bool:
        """Whether the controllers, which give them, are up: just after a start they are not."""
        try:
            await self.token("nothing")
        except ApiError as error:
            return error.code == 404
        return False

    async def url(self, path: str = "/v1beta1/upload") -> str:
        """The endpoint, found as virtctl finds it."""

        async def look() -> Object | None:
            found = (await self.client.get(CDI_CONFIGS, "config")).get("status", {})
            return found if "uploadProxyURL" in found else None

        found = await eventually(look)
        self.trust.write_text(found["uploadProxyCA"])
        return f"{found['uploadProxyURL']}{path}"

    async def disk(self, name: str) -> Path:
        """The file of a volume that is bound."""

        async def look() -> Path | None:
            claim = await self.client.get(VOLUME_CLAIMS, name, self.namespace)
            if claim.get("status", {}).get("phase") != "Bound":
                return None
            volume = await self.client.get(VOLUMES, claim["spec"]["volumeName"])
            return Path(volume["spec"]["local"]["path"]) / "disk.img"

        return await eventually(look)

    async def pod(self, name: str) -> Object:
        """The pod that takes the upload."""
        claim = await self.client.get(VOLUME_CLAIMS, name, self.namespace)
        return await self.client.get(PODS, f"cdi-upload-prime-{claim['metadata']['uid']}", self.namespace)

    async def clear(self) -> None:
        """Deletes the volumes, and returns when no pod is left."""
        for each in (await self.client.list(DATA_VOLUMES, self.namespace))["items"]:
            await self.client.delete(DATA_VOLUMES, each["metadata"]["name"], self.namespace)
        for each in (await self.client.list(VOLUME_CLAIMS, self.namespace))["items"]:
            await self._delete(each["metadata"]["name"])

        async def look() -> bool:
            return not (await self.client.list(PODS, self.namespace))["items"]

        await eventually(look, 60)

    async def _delete(self, claim: str) -> None:
        try:
            await self.client.delete(VOLUME_CLAIMS, claim, self.namespace)
        except ApiError as error:
            if error.code != 404:
                raise

    @asynccontextmanager
    async def user(self, role: str) -> AsyncIterator[Client]:
        """Somebody who has a cluster role in the namespace, or none."""
        name = f"{role or 'no'}-user"
        if role:
            binding = {
                "metadata": {"name": name, "namespace": self.namespace},
                "roleRef": {"apiGroup": ROLE_BINDINGS.group, "kind": "ClusterRole", "name": role},
                "subjects": [{"apiGroup": ROLE_BINDINGS.group, "kind": "User", "name": name}],
            }
            await self.client.create(ROLE_BINDINGS, binding)
        config = replace(load(self.machine.kubeconfig), headers=(("Impersonate-User", name),))
        async with Client.connect(config, on_warning=lambda _: None) as client:
            yield client

    def status(self) -> dict[str, object]:
        command = [*INGOT, "status", "--dir", str(self.directory), "--output", "json"]
        return dict(json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout))
