"""What a command is about, as people type it: `vm,dv`, `datavolume fedora debian`, `vm/web pod/one`."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ingot.api.object import Object
from ingot.api.status import ApiError

if TYPE_CHECKING:
    from ingot.cli.connection import Session
    from ingot.kube.discovery import Discovery, Served


@dataclass(frozen=True, slots=True)
class Target:
    """Objects of one type: those with `names`, or without names all that a selector leaves."""

    served: "Served"
    names: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """The type as output names it: `configmap`, `datavolume.cdi.kubevirt.io`."""
        return type_word(self.served)

    def path(self, session: "Session", name: str = "") -> str:
        return self.served.resource.path(session.namespace if name else session.scope, name)


def type_word(served: "Served") -> str:
    group = served.resource.group
    return f"{served.singular}.{group}" if group else served.singular


def object_word(obj: Object) -> str:
    """An object as output names it: `configmap/one`, `datavolume.cdi.kubevirt.io/fedora`."""
    group, _, _ = str(obj.get("apiVersion", "")).rpartition("/")
    kind = str(obj.get("kind", "")).lower()
    return f"{kind}.{group}/{obj['metadata']['name']}" if group else f"{kind}/{obj['metadata']['name']}"


async def resolve(discovery: "Discovery", arguments: Sequence[str]) -> list[Target]:
    """The targets that the arguments name, in their order. Raises UsageError for what is neither form."""
    slashed = [argument for argument in arguments if "/" in argument]
    if not slashed:
        types, names = arguments[0].split(","), tuple(arguments[1:])
        found = [served for name in types if name for served in await _find(discovery, name)]
        return [Target(served, names) for served in dict.fromkeys(found)]
    if len(slashed) < len(arguments):
        stray = next(argument for argument in arguments if "/" not in argument)
        raise click.UsageError(f'"{stray}" is not TYPE/NAME as the other arguments are; write TYPE NAME… or TYPE/NAME…')
    named: dict[Served, list[str]] = {}
    for argument in arguments:
        word, _, name = argument.partition("/")
        if not word or not name or "/" in name:
            raise click.UsageError(f'"{argument}" is not TYPE/NAME, such as datavolume/fedora')
        for served in await _find(discovery, word):
            named.setdefault(served, []).append(name)
    return [Target(served, tuple(dict.fromkeys(names))) for served, names in named.items()]


async def _find(discovery: "Discovery", name: str) -> "list[Served]":
    """The type of that name; or all types of that category, such as `all`."""
    from ingot.kube.discovery import match

    known = await discovery.all()
    if found := match(known, name):
        return [found]
    members: dict[tuple[str, str], Served] = {}
    for served in known:
        if name.lower() in served.categories:
            members.setdefault((served.resource.group, served.resource.plural), served)
    if not members:
        from ingot.cli.failure import explain_unknown

        raise click.ClickException(explain_unknown(name, known))
    return list(members.values())


async def existing(
    session: "Session", target: Target, label_selector: str = "", field_selector: str = ""
) -> AsyncIterator[Object | ApiError]:
    """The objects of a target. A named one that is not there is yielded as the server's NotFound."""
    resource = target.served.resource
    if not target.names:
        pages = session.client.pages(
            resource, session.scope, label_selector=label_selector, field_selector=field_selector
        )
        async for page in pages:
            for item in page["items"]:
                yield item
        return
    for name in target.names:
        try:
            yield await session.client.get(resource, name, session.namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            yield error


def check_names(targets: Sequence[Target], *, all_namespaces: bool, selector: str) -> None:
    """Refuses what contradicts itself: a name together with a selector or with all namespaces."""
    for target in targets:
        if target.names and selector:
            raise click.UsageError("give names or a selector, not both")
        if target.names and all_namespaces and target.served.resource.namespaced:
            raise click.UsageError("a name is looked for in one namespace: use --namespace instead of --all-namespaces")
