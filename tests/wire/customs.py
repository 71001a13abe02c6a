"""Custom kinds for the cases: in one group for all, or in a group of a case's own, named after its namespace."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from wire.kinds import CRDS

SHARED = "shared.wire.test"
SPEC: Object = {
    "type": "object",
    "required": ["colour"],
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10, "default": 3},
        "label": {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 5},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        "port": {"x-kubernetes-int-or-string": True},
        "since": {"type": "string", "format": "date-time"},
        "replicas": {"type": "integer", "default": 1},
        "note": {"type": "string", "nullable": True},
        "tags": {"type": "array", "maxItems": 3, "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "parts": {
            "type": "array",
            "minItems": 1,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}},
            },
        },
        "limits": {"type": "object", "maxProperties": 2, "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
STATUS: Object = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "replicas": {"type": "integer"},
        "selector": {"type": "string"},
    },
}


def version(name: str = "v1", *, storage: bool = True, spec: Object | None = None, **more: Any) -> Object:
    """One version of Gadget; `more` are further fields of it."""
    properties = {"spec": copy.deepcopy(spec or SPEC), "status": copy.deepcopy(STATUS)}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        **more,
    }


def definition(group: str, *versions: Object, scope: str = "Namespaced") -> Object:
    """The CustomResourceDefinition of Gadget in a group."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"gadgets.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "plural": "gadgets",
                "singular": "gadget",
                "kind": "Gadget",
                "shortNames": ["gd"],
                "categories": ["wire"],
            },
            "versions": list(versions) or [version()],
        },
    }


def gadgets(group: str, name: str = "v1") -> Resource:
    return Resource(group, name, "gadgets", "Gadget")


def gadget(resource: Resource, name: str, **spec: Any) -> Object:
    """A Gadget that is valid unless `spec` makes it invalid."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {"colour": "red", **spec},
    }


def group_of(namespace: str) -> str:
    return f"{namespace}.test"


async def shared(client: Client) -> Resource:
    """Gadget in a group that all cases share, for those that leave its definition alone: a new one takes seconds."""
    try:
        await client.create(CRDS, definition(SHARED))
    except ApiError as error:
        if error.reason != "AlreadyExists":
            raise
    await answers(client, gadgets(SHARED))
    return gadgets(SHARED)


async def served(client: Client, namespace: str, *versions: Object) -> Resource:
    """Makes Gadget a kind of the case's own, and returns as soon as every version of it answers; the resource is of
    the first."""
    crd = definition(group_of(namespace), *versions)
    await client.create(CRDS, crd)
    resources = [gadgets(group_of(namespace), each["name"]) for each in crd["spec"]["versions"] if each["served"]]
    for resource in resources:
        await answers(client, resource)
    return resources[0]


async def answers(client: Client, resource: Resource) -> None:
    """Returns as soon as the kind can be listed."""
    async with asyncio.timeout(20):
        while True:
            try:
                await client.list(resource)
            except ApiError as error:
                if error.code != 404:
                    raise
                await asyncio.sleep(0.02)
            else:
                return
