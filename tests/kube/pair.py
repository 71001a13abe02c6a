"""Ingot's own server and a cluster side by side: what is asked is asked of both, and the answers are compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from difflib import unified_diff
from typing import Any

import yaml

from ingot.api import registry
from ingot.api.machinery.kind import resource_of
from ingot.api.object import Object, name_of, split_api_version
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client
from wire.kinds import PODS
from wire.normal import Normal

# What kube-apiserver puts before the words of a webhook. On one machine nobody stands between.
DENIED = 'admission webhook "validate.ingot.local" denied the request: '


class Pair:
    """One namespace of the same name on both servers.

    Every verb gives the one answer, in normal form; a refusal is an answer, too. A difference fails the test.
    """

    def __init__(self, ours: Client, theirs: Client, namespace: str) -> None:
        self.ours, self.theirs = ours, theirs
        self.namespace = namespace
        self._names: dict[str, str] = {}
        self._normal_ours, self._normal_theirs = Normal(self._names), Normal(self._names)

    async def create(self, obj: Object) -> Any:
        for owner in obj["metadata"].get("ownerReferences", ()):
            self._names[owner["uid"]] = f"<uid of {owner['name']}>"
        return await self._same(lambda client: client.create(resource(obj), self.placed(obj)))

    async def apply(self, obj: Object) -> Any:
        return await self._same(lambda client: client.apply(resource(obj), self.placed(obj), "test"))

    async def get(self, kind: Resource, name: str, namespace: str = "") -> Any:
        return await self._same(lambda client: client.get(kind, name, namespace or self.namespace))

    async def list(self, kind: Resource) -> Any:
        return await self._same(lambda client: client.list(kind, self.namespace))

    async def patch(self, kind: Resource, name: str, patch: Object, subresource: str = "") -> Any:
        return await self._same(lambda client: client.patch(kind, name, patch, self.namespace, subresource=subresource))

    async def stored(self, obj: Object) -> Any:
        """Creates an object and gives it in the version that is stored."""
        made = await self.create(obj)
        assert made["kind"] == obj["kind"], made
        stored = stored_resource(obj)
        return made if stored == resource(obj) else await self.get(stored, name_of(made))

    def placed(self, obj: Object) -> Object:
        """The object in this pair's namespace."""
        return {**obj, "metadata": {**obj["metadata"], "namespace": self.namespace}}

    async def _same(self, ask: Callable[[Client], Awaitable[Object]]) -> Any:
        here = self._normal_ours(await _answer(self.ours, ask))
        there = self._normal_theirs(await _answer(self.theirs, ask))
        assert here == there, difference(here, there)
        return here


async def _answer(client: Client, ask: Callable[[Client], Awaitable[Object]]) -> Object:
    try:
        return await ask(client)
    except ApiError as error:
        return {**error.status(), "message": error.message.replace(DENIED, "")}


def difference(ours: Any, theirs: Any) -> str:
    """Where two answers differ, for a person."""
    here, there = [yaml.safe_dump(each, width=1000).splitlines() for each in (ours, theirs)]
    return "\n".join(["", *unified_diff(here, there, "on one machine", "on the cluster", lineterm="")])


def resource(obj: Object, version: str = "") -> Resource:
    """Where an object goes; or where it is in another version of its kind."""
    group, own = split_api_version(obj["apiVersion"])
    info = registry.find(group, obj["kind"])
    return resource_of(info.shape, version or own) if info else PODS


def stored_resource(obj: Object) -> Resource:
    """Where an object is as it is stored."""
    return resource(obj, versions(obj)[0])


def versions(obj: Object) -> list[str]:
    """The versions in which an object can be read, the stored one first."""
    info = registry.find(split_api_version(obj["apiVersion"])[0], obj["kind"])
    return [each.name for each in info.versions if each.served] if info else [PODS.version]
