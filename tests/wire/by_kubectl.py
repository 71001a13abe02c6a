"""The verbs through kubectl."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Unpack

from ingot.api.object import Object
from ingot.api.resource import Resource
from wire.shell import Kubectl, documents
from wire.talker import Deletion, Event, PatchKind, Refused, Selection, Writing

REFUSAL = re.compile(
    r'Error from server(?: \((\w+)\))?: (?:error when \w+ "STDIN": |Unable to find .*?": )?(.*)', re.DOTALL
)
INVALID = re.compile(r'The (?:request|\S+ ".*?") is invalid: ?(.*)', re.DOTALL)
APPLY = re.compile(r"error: (Apply failed with .*?)\nPlease review", re.DOTALL)
MEDIA = re.compile(r"error: \S+ is not supported by .*?: (the body .*)", re.DOTALL)
JSON = ("--output=json", "--show-managed-fields")


class ByKubectl:
    """Talks through the kubectl of the server's release."""

    def __init__(self, kubectl: Kubectl) -> None:
        self._kubectl = kubectl

    async def _say(self, *arguments: str, stdin: Object | None = None) -> str:
        output = await self._kubectl(*arguments, stdin=stdin)
        if output.code:
            raise refusal(output.err)
        return output.out

    async def _ask(self, *arguments: str, stdin: Object | None = None) -> Object:
        answer: Object = json.loads(await self._say(*arguments, *JSON, stdin=stdin))
        return answer

    async def create(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        return await self._send("create", resource, obj, options)

    async def get(self, resource: Resource, name: str, subresource: str = "") -> Object:
        return await self._ask("get", target(resource), name, *flags(subresource=subresource))

    async def list(self, resource: Resource, **selection: Unpack[Selection]) -> builtins.list[Object]:
        found: builtins.list[Object] = (await self._ask("get", target(resource), *_selection(selection)))["items"]
        return found

    async def replace(self, resource: Resource, obj: Object, **options: Unpack[Writing]) -> Object:
        return await self._send("replace", resource, obj, options)

    async def patch(
        self,
        resource: Resource,
        name: str,
        patch: Object | builtins.list[Object],
        kind: PatchKind = "merge",
        **options: Unpack[Writing],
    ) -> Object:
        given = flags(type=kind, patch=json.dumps(patch))
        return await self._ask("patch", target(resource), name, *given, *_writing(options))

    async def apply(self, resource: Resource, obj: Object, force: bool = False, **options: Unpack[Writing]) -> Object:
        forced = ["--force-conflicts"] if force else []
        return await self._send("apply", resource, obj, options, "--server-side", *forced)

    async def delete(self, resource: Resource, name: str, **options: Unpack[Deletion]) -> None:
        given = flags(cascade=options.get("cascade", "background"), wait="false")
        if "grace" in options:
            given += [f"--grace-period={options['grace']}", *(["--force"] if options["grace"] == 0 else [])]
        dry_run = flags(dry_run="server") if options.get("dry_run") else []
        await self._say("delete", target(resource), name, *given, *dry_run)

    async def scale(self, resource: Resource, name: str, replicas: int) -> None:
        await self._say("scale", target(resource), name, *flags(replicas=str(replicas)))

    @asynccontextmanager
    async def watch(self, resource: Resource, **selection: Unpack[Selection]) -> AsyncIterator[AsyncIterator[Event]]:
        arguments = ["get", target(resource), "--watch", "--output-watch-events", *_selection(selection), *JSON]
        async with self._kubectl.following(*arguments) as stream:
            yield ((event["type"], event["object"]) async for event in documents(stream))

    async def _send(self, verb: str, resource: Resource, obj: Object, options: Writing, *more: str) -> Object:
        sent = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self._ask(verb, "--filename=-", "--validate=warn", *more, *_writing(options), stdin=sent)


def refusal(printed: str) -> Refused:
    """What the server said, from what kubectl makes of it; `kubectl` itself is the reason where the server is not."""
    if found := REFUSAL.match(printed):
        return Refused(found[1] or "", found[2].strip())
    if found := INVALID.match(printed):
        return Refused("Invalid", *filter(None, re.split(r"(?:^|\n)\* ", found[1].strip())))
    if found := APPLY.match(printed):
        return Refused("Conflict", found[1].replace("conflicts:\n", "conflicts: "))
    if found := MEDIA.match(printed):
        return Refused("UnsupportedMediaType", found[1].strip())
    return Refused("kubectl", printed.strip())


def target(resource: Resource) -> str:
    return f"{resource.plural}.{resource.version}.{resource.group}"


def flags(**values: str) -> list[str]:
    """Flags for the values that are not empty."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in values.items() if value]


def _writing(options: Writing) -> list[str]:
    dry_run = "server" if options.get("dry_run") else ""
    return flags(
        field_manager=options.get("manager", "wire"), subresource=options.get("subresource", ""), dry_run=dry_run
    )


def _selection(selection: Selection) -> list[str]:
    return flags(selector=selection.get("labels", ""), field_selector=selection.get("fields", ""))
