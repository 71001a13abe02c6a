"""Which resources a server has, found by any name that people use for them."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingot.api.object import Object, split_api_version
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.kube.client import Client


@dataclass(frozen=True, slots=True)
class Served:
    """A resource as a server describes it."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]


class UnknownResource(LookupError):
    def __init__(self, name: str, server: str) -> None:
        super().__init__(f'the server {server} has no resource type "{name}"')
        self.name = name
        self.server = server


class Discovery:
    """The resources of a server, remembered; a name that is not known is asked for once more."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._served: list[Served] = []

    async def all(self) -> list[Served]:
        """Everything served, each group's preferred version first."""
        if not self._served:
            self._served = await self._fetch()
        return self._served

    def forget(self) -> None:
        self._served = []

    async def find(self, name: str) -> Served:
        """By `pods`, `pod`, `Pod`, `po`, `deployments.apps` or `deployments.v1.apps`; UnknownResource if none."""
        if self._served and (found := match(self._served, name)):
            return found
        self.forget()
        if found := match(await self.all(), name):
            return found
        raise UnknownResource(name, self._client.transport.config.server)

    async def of(self, obj: Object) -> Resource:
        """The resource that `obj` belongs to, by its apiVersion and kind."""
        api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        for _ in range(2):
            for served in await self.all():
                if (served.resource.api_version, served.resource.kind) == (api_version, kind):
                    return served.resource
            self.forget()
        raise UnknownResource(f"{kind} of {api_version}", self._client.transport.config.server)

    async def _fetch(self) -> list[Served]:
        core, groups = await asyncio.gather(self._client.call("GET", "/api"), self._client.call("GET", "/apis"))
        versions = [f"/api/{version}" for version in core.get("versions", [])]
        for group in groups.get("groups", []):
            preferred = group.get("preferredVersion", {}).get("groupVersion", "")
            listed = [version["groupVersion"] for version in group.get("versions", [])]
            first = [version for version in listed if version == preferred]
            rest = [version for version in listed if version != preferred]
            versions += [f"/apis/{version}" for version in first + rest]
        lists = await asyncio.gather(*(self._version(path) for path in versions))
        return [served for found in lists for served in _served(found)]

    async def _version(self, path: str) -> Object:
        try:
            return await self._client.call("GET", path)
        except ApiError:
            # An aggregated API whose server is down must not hide all the others.
            return {}


def _served(listing: Object) -> Iterable[Served]:
    group, version = split_api_version(listing.get("groupVersion", ""))
    resources = listing.get("resources", [])
    for entry in resources:
        plural = entry["name"]
        if "/" in plural:
            continue
        yield Served(
            Resource(group, version, plural, entry["kind"], bool(entry.get("namespaced"))),
            entry.get("singularName") or entry["kind"].lower(),
            tuple(entry.get("shortNames", ())),
            tuple(entry.get("categories", ())),
            tuple(entry.get("verbs", ())),
            tuple(other["name"].partition("/")[2] for other in resources if other["name"].startswith(f"{plural}/")),
        )


def match(known: Sequence[Served], name: str) -> Served | None:
    """The type that `name` means: a plural or singular before a short name, and that before a kind.

    After a dot comes its group, or its version and group: `leases.coordination.k8s.io`. Of several it is the first.
    """
    word, _, place = name.lower().partition(".")
    here = [served for served in known if not place or place in _places(served)]
    for names in (_full_names, _short_names, _kinds):
        for served in here:
            if word in names(served):
                return served
    return None


def _places(served: Served) -> tuple[str, ...]:
    group, version = served.resource.group, served.resource.version
    return (group, f"{version}.{group}") if group else (version, f"{version}.")


def _full_names(served: Served) -> tuple[str, ...]:
    return served.resource.plural, served.singular


def _short_names(served: Served) -> tuple[str, ...]:
    return served.short_names


def _kinds(served: Served) -> tuple[str, ...]:
    return (served.resource.kind.lower(),)
