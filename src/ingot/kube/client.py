"""The Kubernetes API as verbs on objects: plain dictionaries in, plain dictionaries out."""

import builtins
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from enum import StrEnum
from typing import Any, Literal, Self, TypedDict, Unpack

import aiohttp
import msgspec

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.kubeconfig import Config, load
from ingot.kube.transport import CONNECT_SECONDS, Transport
from ingot.kube.watch import WatchEvent, watch_events

PAGE = 500
# How long after its promised end a watch may stay silent before it counts as dead.
WATCH_GRACE_SECONDS = 30.0


class Patch(StrEnum):
    """The kinds of patch, by their media types. JSON takes a list of operations, the others an object."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Selection(TypedDict, total=False):
    """Which objects of a collection; selectors in the wire's syntax: `app=web,tier!=db`."""

    label_selector: str
    field_selector: str


class Listing(Selection, total=False):
    limit: int
    continue_: str
    resource_version: str
    resource_version_match: Literal["Exact", "NotOlderThan"]


class Writing(TypedDict, total=False):
    field_manager: str
    dry_run: bool


class Deletion(TypedDict, total=False):
    """`uid` and `resource_version` are preconditions: another object is left alone, with 409."""

    propagation: Literal["Background", "Foreground", "Orphan"]
    grace_period: int
    uid: str
    resource_version: str
    dry_run: bool


def _query(options: Mapping[str, Any]) -> dict[str, str]:
    """Options that say something, as the wire spells them: `dry_run=True` is `dryRun=All`."""
    query = {}
    for key, value in options.items():
        if value:
            head, *tail = key.strip("_").split("_")
            name = head + "".join(word.capitalize() for word in tail)
            query[name] = "All" if key == "dry_run" else "true" if value is True else str(value)
    return query


class Client:
    """Verbs on one API server.

    Every verb raises ApiError when the server refuses and ConnectionFailed when it does not answer. An empty
    namespace means all namespaces for `list`, `pages`, `watch` and `delete_collection`. `create`, `replace` and
    `apply` take name and namespace from the object.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    @classmethod
    def connect(cls, config: Config | None = None, **options: Any) -> Self:
        """A client for `config`, or for what `kubeconfig.load()` finds. `options` are Transport's."""
        return cls(Transport(config or load(), **options))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        """Any request whose answer is a JSON object; for all others there is `transport.request`."""
        sent = None if body is None else msgspec.json.encode(body)
        raw = await self.transport.request(method, path, params=params, body=sent, content_type=content_type)
        try:
            answer: Object = msgspec.json.decode(raw, type=dict)
        except (msgspec.DecodeError, RecursionError) as error:
            raise ApiError(502, "", f"{method} {path}: the answer is not a JSON object: {error}") from error
        return answer

    async def get(
        self, resource: Resource, name: str, namespace: str = "", *, subresource: str = "", resource_version: str = ""
    ) -> Object:
        path = resource.path(namespace, name, subresource)
        return await self.call("GET", path, params=_query({"resource_version": resource_version}))

    async def list(self, resource: Resource, namespace: str = "", **options: Unpack[Listing]) -> Object:
        """One List. Each item has apiVersion and kind, which servers leave out for built-in kinds."""
        page = await self.call("GET", resource.path(namespace), params=_query(options))
        items: builtins.list[Object] = page.get("items") or []
        for item in items:
            if "kind" not in item:
                item["apiVersion"], item["kind"] = resource.api_version, resource.kind
        page["items"] = items
        return page

    async def pages(
        self, resource: Resource, namespace: str = "", *, limit: int = PAGE, **selection: Unpack[Selection]
    ) -> AsyncGenerator[Object, None]:
        """The Lists of one consistent snapshot, `limit` items each (0: all in one).

        A snapshot that expires half way raises 410: objects of two moments are never mixed.
        """
        token = ""
        while True:
            page = await self.list(resource, namespace, limit=limit, continue_=token, **selection)
            yield page
            token = page.get("metadata", {}).get("continue", "")
            if not token:
                return

    async def create(
        self,
        resource: Resource,
        obj: Object,
        *,
        name: str = "",
        subresource: str = "",
        **options: Unpack[Writing],
    ) -> Object:
        """Create an object; or post `obj` to the subresource of `name`, as evictions and token requests are."""
        path = resource.path(namespace_of(obj), name, subresource)
        return await self.call("POST", path, obj, _query(options))

    async def replace(
        self, resource: Resource, obj: Object, *, subresource: str = "", **options: Unpack[Writing]
    ) -> Object:
        """Put `obj` in place of what is there; with a resourceVersion in it, only of that version (else 409)."""
        path = resource.path(namespace_of(obj), name_of(obj), subresource)
        return await self.call("PUT", path, obj, _query(options))

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Object | Sequence[Object],
        namespace: str = "",
        *,
        kind: Patch = Patch.MERGE,
        subresource: str = "",
        force: bool = False,
        **options: Unpack[Writing],
    ) -> Object:
        """Change an object by a patch of `kind`; `force` is for APPLY only."""
        path = resource.path(namespace, name, subresource)
        return await self.call("PATCH", path, patch, _query({**options, "force": force}), kind)

    async def apply(
        self,
        resource: Resource,
        obj: Object,
        field_manager: str,
        *,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Server-side apply: own exactly the fields in `obj`. A conflict is a 409 that lists the other owners."""
        path = resource.path(namespace_of(obj), name_of(obj), subresource)
        query = _query({"field_manager": field_manager, "force": force, "dry_run": dry_run})
        return await self.call("PATCH", path, obj, query, Patch.APPLY)

    async def delete(self, resource: Resource, name: str, namespace: str = "", **options: Unpack[Deletion]) -> Object:
        """Delete an object. The answer is the object if it lives on (finalizers, grace), else often a Status."""
        return await self.call("DELETE", resource.path(namespace, name), _delete_options(options))

    async def delete_collection(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        **options: Unpack[Deletion],
    ) -> Object:
        query = _query({"label_selector": label_selector, "field_selector": field_selector})
        return await self.call("DELETE", resource.path(namespace), _delete_options(options), query)

    async def watch(
        self,
        resource: Resource,
        namespace: str = "",
        *,
        resource_version: str = "",
        bookmarks: bool = True,
        seconds: int = 300,
        **selection: Unpack[Selection],
    ) -> AsyncGenerator[WatchEvent, None]:
        """Changes after `resource_version`, as they come, until the server ends the watch after `seconds`.

        Without a version it begins with an ADDED for everything that is there. Raises ApiError for an ERROR
        event (410: the version is too old, list again) and ConnectionFailed when the stream breaks off. To leave
        early, close it with `contextlib.aclosing`.
        """
        wanted = {"resource_version": resource_version, "allow_watch_bookmarks": bookmarks, **selection}
        query = _query({"watch": True, "timeout_seconds": seconds, **wanted})
        limits = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS, sock_read=seconds + WATCH_GRACE_SECONDS)
        response = await self.transport.open("GET", resource.path(namespace), params=query, limits=limits)
        async with aclosing(watch_events(response, self.transport.config.server)) as batches:
            async for batch in batches:
                for event in batch:
                    yield event


def _delete_options(options: Deletion) -> Object:
    body: Object = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if "propagation" in options:
        body["propagationPolicy"] = options["propagation"]
    if "grace_period" in options:
        body["gracePeriodSeconds"] = options["grace_period"]
    if options.get("dry_run"):
        body["dryRun"] = ["All"]
    preconditions = {"uid": options.get("uid"), "resourceVersion": options.get("resource_version")}
    if given := {key: value for key, value in preconditions.items() if value}:
        body["preconditions"] = given
    return body
