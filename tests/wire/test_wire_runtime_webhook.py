"""Our webhooks, called by a live API server. Ingot's own server asks nobody: its admission is in process."""

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from eventual import eventually
from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError, Cause
from ingot.kube.client import Client
from ingot.kube.discovery import Discovery, UnknownResource
from ingot.kube.webhook import WebhookServer
from wire.kinds import CONFIG_MAPS, CRDS

ADMISSION = "admissionregistration.k8s.io"
MUTATING = Resource(ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False)
VALIDATING = Resource(ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False)


def admit(obj: Object, old: Object | None, operation: str) -> Object:
    obj["metadata"].setdefault("labels", {})["seen/by"] = operation.lower()
    return obj


def validate(obj: Object, old: Object | None) -> list[Cause]:
    data = obj.get("data", {})
    return [Cause(f"data.{key}", "must not be empty", "FieldValueRequired") for key in data if not data[key]]


def convert(obj: Object, version: str) -> Object:
    spec = dict(obj["spec"])
    if version.endswith("/v2"):
        first, _, last = spec.pop("name").partition(" ")
        spec |= {"first": first, "last": last}
    else:
        spec = {"name": f"{spec['first']} {spec['last']}"}
    return obj | {"apiVersion": version, "spec": spec}


@pytest.fixture(autouse=True)
async def _server_calls_webhooks(client: Client) -> None:
    try:
        await Discovery(client).find(MUTATING.qualified)
    except UnknownResource:
        pytest.skip("this server calls no webhooks: its admission is in process")


class Served:
    """A running webhook server, as the API server is told to reach it."""

    def __init__(self, port: int, ca: trustme.CA) -> None:
        self._port = port
        self._bundle = base64.b64encode(ca.cert_pem.bytes()).decode()

    def at(self, path: str) -> Object:
        return {"url": f"https://127.0.0.1:{self._port}{path}", "caBundle": self._bundle}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    ca = trustme.CA()
    issued = ca.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "tls.crt"))
    issued.private_key_pem.write_to_path(str(tmp_path / "tls.key"))
    server = WebhookServer(tmp_path / "tls.crt", tmp_path / "tls.key", host="127.0.0.1", port=0)
    server.mutate("/mutate", admit)
    server.validate("/validate", validate)
    server.convert("/convert", convert)
    running = asyncio.create_task(server.run())
    await server.ready.wait()
    yield Served(server.port, ca)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def configuration(name: str, namespace: str, client_config: Object) -> Object:
    return {
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "tests.ingot.dev",
                "clientConfig": client_config,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                        "operations": ["CREATE", "UPDATE"],
                    }
                ],
            }
        ],
    }


async def noticed(client: Client, namespace: str) -> bool:
    """Whether the API server calls the webhook yet: whether a probe is labelled or refused."""
    probe = {"metadata": {"generateName": "probe-", "namespace": namespace}, "data": {"empty": ""}}
    try:
        made = await client.create(CONFIG_MAPS, probe, dry_run=True)
    except ApiError as error:
        return error.code == 422
    return "seen/by" in made["metadata"].get("labels", {})


async def test_a_mutating_webhook(client: Client, namespace: str, served: Served) -> None:
    await client.create(MUTATING, configuration(namespace, namespace, served.at("/mutate")))
    try:
        await eventually(lambda: noticed(client, namespace))
        made = await client.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": namespace}})
        assert made["metadata"]["labels"] == {"seen/by": "create"}
        changed = await client.patch(CONFIG_MAPS, "a", {"data": {"x": "1"}}, namespace)
        assert changed["metadata"]["labels"] == {"seen/by": "update"}
    finally:
        await client.delete(MUTATING, namespace)


async def test_a_validating_webhook(client: Client, namespace: str, served: Served) -> None:
    await client.create(VALIDATING, configuration(namespace, namespace, served.at("/validate")))
    try:
        await eventually(lambda: noticed(client, namespace))
        bad = {"metadata": {"name": "a", "namespace": namespace}, "data": {"x": "", "y": "1"}}
        with pytest.raises(ApiError) as refused:
            await client.create(CONFIG_MAPS, bad)
        assert (refused.value.code, refused.value.reason) == (422, "Invalid")
        assert refused.value.message == (
            'admission webhook "tests.ingot.dev" denied the request: '
            'ConfigMap "a" is invalid: data.x: must not be empty'
        )
        assert refused.value.details is not None
        assert refused.value.details["causes"][0]["field"] == "data.x"
        await client.create(CONFIG_MAPS, bad | {"data": {"y": "1"}})
    finally:
        await client.delete(VALIDATING, namespace)


def people(group: str, client_config: Object) -> Object:
    def version(name: str, *fields: str) -> Object:
        spec = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema}

    return {
        "metadata": {"name": f"people.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "people", "singular": "person", "kind": "Person", "listKind": "PersonList"},
            "versions": [version("v1", "name"), version("v2", "first", "last")],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client_config},
            },
        },
    }


async def test_a_conversion_webhook(client: Client, namespace: str, served: Served) -> None:
    group = f"{namespace}.ingot.dev"
    await client.create(CRDS, people(group, served.at("/convert")))
    first, second = (Resource(group, version, "people", "Person") for version in ("v1", "v2"))
    ada: Object = {
        "apiVersion": second.api_version,
        "kind": "Person",
        "metadata": {"name": "ada", "namespace": namespace},
        "spec": {"first": "Ada", "last": "Lovelace"},
    }
    try:
        await eventually(lambda: client.create(second, ada))
        stored = await client.get(first, "ada", namespace)
        assert stored["spec"] == {"name": "Ada Lovelace"}
        listed = await client.list(second, namespace)
        assert listed["items"][0]["spec"] == {"first": "Ada", "last": "Lovelace"}
    finally:
        await client.delete(CRDS, f"people.{group}")
