"""The verbs through Ingot's own client."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any, Unpack

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client, Patch
from wire.talker import Deletion, Event, PatchKind, Refused, Selection, Writing

KINDS = {"json": Patch.JSON, "merge": Patch.MERGE, "strategic": Patch.STRATEGIC}


@contextmanager
def refusals() -> Iterator[None]:
    try:
        yield
    except ApiError as error:
        causes = (error.details or {}).get("causes") or [] if error.reason == "Invalid" else []
        faults = dict.fromkeys(f"{cause['field']}: {cause['message']}" for cause in causes)
        raise Refused(error.reason, *(faults or [error.message])) from error


class ByClient:
    """Talks through `ingot.kube.client`."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    def _place(self, resource: Resource) -> str:
        return self._namespace if resource.namespaced else ""

    def _placed(self, resource: Resource, obj: Object) -> Object:
        meta = {"namespace": self._namespace} if resource.namespaced else {}
        return {"apiVersion": resource.api_version, "kind": resource.kind, **obj, "metadata": meta | obj["metadata"]}

    async def create(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        with refusals():
            return await self._client.create(resource, self._placed(resource, obj), **_writing(options))

    async def get(self, resource: Resource, name: str, subresource: str = "") -> Object:
        with refusals():
            return await self._client.get(resource, name, self._place(resource), subresource=subresource)

    async def list(self, resource: Resource, **selection: Unpack[Selection]) -> builtins.list[Object]:
        with refusals():
            items: builtins.list[Object] = []
            async for page in self._client.pages(resource, self._place(resource), **_selection(selection)):
                items += page["items"]
            return items

    async def replace(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        with refusals():
            placed, subresource = self._placed(resource, obj), options.pop("subresource", "")
            return await self._client.replace(resource, placed, subresource=subresource, **_writing(options))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Object | builtins.list[Object],
        kind: PatchKind = "merge",
        **options: Unpack[Writing],
    ) -> Object:
        with refusals():
            place, subresource = self._place(resource), options.pop("subresource", "")
            return await self._client.patch(
                resource, name, patch, place, kind=KINDS[kind], subresource=subresource, **_writing(options)
            )

    async def apply(self, resource: Resource, obj: Object, force: bool = False, **options: Unpack[Writing]) -> Object:
        with refusals():
            return await self._client.apply(
                resource,
                self._placed(resource, obj),
                options.get("manager", "wire"),
                force=force,
                subresource=options.get("subresource", ""),
                dry_run=options.get("dry_run", False),
            )

    async def delete(self, resource: Resource, name: str, **options: Unpack[Deletion]) -> None:
        given: dict[str, Any] = {"propagation": options.get("cascade", "background").capitalize()}
        if "grace" in options:
            given["grace_period"] = options["grace"]
        with refusals():
            dry_run = options.get("dry_run", False)
            await self._client.delete(resource, name, self._place(resource), dry_run=dry_run, **given)

    async def scale(self, resource: Resource, name: str, replicas: int) -> None:
        patch = {"spec": {"replicas": replicas}}
        with refusals():
            # kubectl does this as itself: `kubectl scale` cannot be told who it is.
            await self._client.patch(
                resource, name, patch, self._place(resource), subresource="scale", field_manager="kubectl"
            )

    @asynccontextmanager
    async def watch(self, resource: Resource, **selection: Unpack[Selection]) -> AsyncIterator[AsyncIterator[Event]]:
        chosen = _selection(selection)
        stream = self._client.watch(resource, self._place(resource), bookmarks=False, seconds=60, **chosen)
        async with aclosing(stream):
            yield ((event.type, event.object) async for event in stream)


def _writing(options: Writing) -> Any:
    return {"field_manager": options.get("manager", "wire"), "dry_run": options.get("dry_run", False)}


def _selection(selection: Selection) -> Any:
    return {"label_selector": selection.get("labels", ""), "field_selector": selection.get("fields", "")}
