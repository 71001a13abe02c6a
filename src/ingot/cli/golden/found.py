"""Golden images as people think of them: a name, the version that it stands for, and those that are kept."""

import difflib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from ingot.api.cdi import names
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_IMPORT_CRONS, DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.cli.golden.kept import Kept
from ingot.control.golden.imports import Import
from ingot.control.golden.rivals import holder_of, managed_by
from ingot.control.golden.wanted import bad_pin, pinned_to
from ingot.kube.objects import is_deleting

if TYPE_CHECKING:
    from ingot.cli.connection import Session

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Golden:
    """`link` is its DataSource and `cron` what follows it: at least one of both is there. `kept`: newest first.

    A cron that `has_lost` its DataSource to another is one of its own, named as no DataSource can be. Such crons are
    `heirs` of the other, unless they are about to go: when that is deleted, the oldest of them has the DataSource.
    """

    link: Object | None
    cron: Object | None
    kept: Sequence[Kept]
    has_lost: bool = False
    heirs: Sequence[Object] = ()

    @property
    def name(self) -> str:
        if self.has_lost:
            return lost_name(name_of(self.cron or {}))
        return name_of(self.link) if self.link else str((self.cron or {})["spec"]["managedDataSource"])

    @property
    def namespace(self) -> str:
        return namespace_of(self.link or self.cron or {})

    @property
    def current(self) -> Kept | None:
        """What a clone that is made now is made from."""
        key = target(self.link)
        return next((each for each in self.kept if each.key == key), None)

    @property
    def own(self) -> list[Kept]:
        """Its versions: what its cron has made, and what is named like it. What it merely points to is another's."""
        cron = name_of(self.cron) if self.cron else None
        return [each for each in self.kept if each.digest and (each.image == self.name or each.cron == cron)]

    def reaches(self, one: Kept) -> bool:
        """Whether it can stand for a version that is kept: what follows it knows none but those of its own."""
        if not one.is_usable or self.cron is None or one.key == target(self.link):
            return one.is_usable
        return one.cron == name_of(self.cron) and Import(one.volume, one.holder).is_named

    @property
    def pinned(self) -> str:
        """The digest at which it is to stay, as its cron reads it; "" for none."""
        return pinned_to(self.cron) if self.cron else ""

    @property
    def bad_pin(self) -> str:
        """What it is pinned to, where that is no digest and holds it where it is; "" else."""
        return bad_pin(self.cron) if self.cron else ""

    @property
    def is_held_back(self) -> bool:
        """Whether it is to stay at a version that is not the newest."""
        return self.pinned not in ("", self.notes.get(names.DESIRED_DIGEST, ""))

    @property
    def notes(self) -> dict[str, str]:
        """The annotations of what follows it."""
        found: dict[str, str] = (self.cron or {}).get("metadata", {}).get("annotations") or {}
        return found


def lost_name(cron: str) -> str:
    """What a cron of this name is called whose DataSource another one has."""
    return f"cron/{cron}"


def place(link: Object | None) -> tuple[str, str, str] | None:
    """What a DataSource points to: `pvc` or `snapshot`, its namespace and its name."""
    source = ((link or {}).get("spec") or {}).get("source") or {}
    ahead = ((link or {}).get("status") or {}).get("source") or {} if "dataSource" in source else source
    for field in ("pvc", "snapshot"):
        if field in ahead:
            own = ahead[field].get("namespace") or namespace_of(link or {})
            return field, own, ahead[field]["name"]
    return None


def target(link: Object | None) -> Key | None:
    """The claim or snapshot that a DataSource points to, by namespace and name."""
    found = place(link)
    return found[1:] if found else None


async def find(session: "Session", name: str) -> Golden:
    """The golden image of that name in the session's namespace. Raises ClickException when there is none."""
    images = {each.name: each for each in await find_all(session)}
    if name in images:
        return images[name]
    if lost_name(name) in images:
        raise click.ClickException(
            f"there is no golden image {name} in namespace {session.namespace}; DataImportCron {name}, whose "
            f"DataSource another one has, is called {lost_name(name)} here"
        )
    raise await no_such(session, name, session.namespace)


async def no_such(session: "Session", name: str, namespace: str) -> click.ClickException:
    """That there is no such golden image, and which may have been meant."""
    links = [name_of(obj) async for obj in each(session, DATA_SOURCES, namespace)]
    close = difflib.get_close_matches(name, links, 3, 0.6)
    meant = f"Did you mean {' or '.join(close)}? " if close else ""
    return click.ClickException(
        f"there is no golden image {name} in namespace {namespace}\n"
        f"{meant}`ingot golden ls` shows those of all namespaces; `ingot golden add REF --name {name}` makes one."
    )


async def find_all(session: "Session") -> list[Golden]:
    """All golden images of the session's namespaces, by namespace and name, then crons that have lost theirs."""
    links = [obj async for obj in each(session, DATA_SOURCES, session.scope)]
    crons = [obj async for obj in each(session, DATA_IMPORT_CRONS, session.scope)]
    kept = await _kept(session)
    return assemble(links, crons, kept)


def assemble(links: Sequence[Object], crons: Sequence[Object], kept: Sequence[Kept]) -> list[Golden]:
    """What belongs together. Of several crons for one DataSource one has it, and the others come last."""
    wanting: defaultdict[Key, list[Object]] = defaultdict(list)
    for cron in sorted(crons, key=_key):
        wanting[managed_by(cron)].append(cron)
    following = {key: holder_of(rivals) or rivals[0] for key, rivals in wanting.items()}
    pointing: dict[Key, Object] = {_key(link): link for link in links}
    losing = {key: [cron for cron in rivals if cron is not following[key]] for key, rivals in wanting.items()}
    versions = _Versions(kept)
    found = []
    for key in sorted(following.keys() | pointing.keys()):
        link, follower = pointing.get(key), following.get(key)
        heirs = [cron for cron in losing.get(key, ()) if not is_deleting(cron)]
        found.append(Golden(link, follower, versions.of(key, link, follower), heirs=heirs))
    for _, losers in sorted(losing.items()):
        found += [Golden(None, cron, versions.made_by(cron), has_lost=True) for cron in losers]
    return found


class _Versions:
    """What is kept, by what it may belong to."""

    def __init__(self, kept: Sequence[Kept]) -> None:
        self._by_key: dict[Key, Kept] = {}
        self._by_cron: defaultdict[Key, list[Kept]] = defaultdict(list)
        self._by_name: defaultdict[Key, list[Kept]] = defaultdict(list)
        for one in kept:
            self._by_key[one.key] = one
            if one.digest:
                namespace = one.key[0]
                self._by_cron[namespace, one.cron].append(one)
                # So what a cron of before has left is found too, and what was published.
                self._by_name[namespace, one.image].append(one)

    def of(self, key: Key, link: Object | None, cron: Object | None) -> Sequence[Kept]:
        """The versions of an image, newest first: what its cron has made, what is named like it, and what it points
        to."""
        found = {one.key: one for one in self._by_name[key]}
        if cron is not None:
            found |= {one.key: one for one in self.made_by(cron)}
        pointed = target(link)
        if pointed and pointed in self._by_key:
            found[pointed] = self._by_key[pointed]
        return sorted(found.values(), key=lambda one: one.order, reverse=True)

    def made_by(self, cron: Object) -> Sequence[Kept]:
        return sorted(self._by_cron[_key(cron)], key=lambda one: one.order, reverse=True)


async def _kept(session: "Session") -> list[Kept]:
    """All that may be a version of something: what was imported by one, and what somebody points to."""
    volumes = {_key(obj): obj async for obj in each(session, DATA_VOLUMES, session.scope)}
    holders = {_key(obj): obj async for obj in each(session, VOLUME_CLAIMS, session.scope)}
    holders |= {_key(obj): obj async for obj in each(session, SNAPSHOTS, session.scope)}
    return [Kept(volumes.get(key), holders.get(key)) for key in sorted(volumes.keys() | holders.keys())]


def _key(obj: Object) -> Key:
    return namespace_of(obj), name_of(obj)


async def each(session: "Session", resource: Resource, namespace: str) -> AsyncIterator[Object]:
    """All objects of a kind; none where the server has not got the kind."""
    try:
        async for page in session.client.pages(resource, namespace):
            for item in page["items"]:
                yield item
    except ApiError as error:
        if error.code != 404:
            raise
