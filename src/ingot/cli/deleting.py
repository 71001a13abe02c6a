"""Deletion of objects: all are asked to end first, then all are waited for."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import click

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.cli.failure import explain
from ingot.cli.goal import Deleted
from ingot.cli.target import Target, check_names, existing, object_word, resolve
from ingot.cli.waiting import Deadline, NotMetError, Progress, wait_for

if TYPE_CHECKING:
    from ingot.cli.connection import Session

PROPAGATION: dict[str, Literal["Background", "Foreground", "Orphan"]] = {
    "background": "Background",
    "foreground": "Foreground",
    "orphan": "Orphan",
}


@dataclass(frozen=True, slots=True)
class Victim:
    """An object to delete. `problem` is why it cannot even be asked for; `holder` keeps it until they have ended."""

    word: str
    resource: Resource | None = None
    name: str = ""
    namespace: str = ""
    uid: str = ""
    problem: str = ""
    holder: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """`outcome` is what became of it; `problem` is empty unless it failed."""

    word: str
    namespace: str
    outcome: str
    problem: str = ""

    def as_object(self) -> Object:
        said = {"object": self.word, "namespace": self.namespace, "result": self.outcome, "problem": self.problem}
        return {key: value for key, value in said.items() if value}


async def from_arguments(session: "Session", what: Sequence[str], selector: str, everything: bool) -> list[Victim]:
    """What the arguments name. Nothing is ever deleted for want of a name."""
    targets = await resolve(session.discovery, what)
    check_names(targets, all_namespaces=session.all_namespaces, selector=selector)
    victims = []
    for target in targets:
        if target.names and everything:
            raise click.UsageError("give names or --all, not both")
        if not target.names and not (selector or everything):
            raise click.UsageError(f"which {target.served.resource.plural}? Give names, --selector or --all")
        victims += await _victims(session, target, selector)
    return victims


async def _victims(session: "Session", target: Target, selector: str) -> list[Victim]:
    resource = target.served.resource
    namespace = session.namespace if resource.namespaced else ""
    if target.names:
        return [Victim(f"{target.word}/{name}", resource, name, namespace) for name in target.names]
    found = []
    async for each in existing(session, target, selector):
        if not isinstance(each, ApiError):
            uid = each["metadata"]["uid"]
            word = f"{target.word}/{name_of(each)}"
            found.append(Victim(word, resource, name_of(each), namespace_of(each), uid))
    return found


async def from_files(session: "Session", files: Sequence[str]) -> list[Victim]:
    """The objects of manifests in the opposite order of `apply`: what lives in a namespace goes before it."""
    from ingot.cli.applying import in_namespace, in_order
    from ingot.cli.manifest import Manifest, ManifestError, read
    from ingot.kube.discovery import UnknownResource

    found = list(read(files))
    victims = [Victim("", problem=str(each)) for each in found if isinstance(each, ManifestError)]
    for manifest in reversed(in_order([each for each in found if isinstance(each, Manifest)])):
        word = object_word(manifest.obj)
        try:
            resource = await session.discovery.of(manifest.obj)
            obj = in_namespace(manifest, resource, session)
        except UnknownResource:
            # With its kind, every object of it is gone.
            victims.append(Victim(word, None, name_of(manifest.obj)))
        except ManifestError as error:
            victims.append(Victim(word, problem=str(error)))
        else:
            victims.append(Victim(word, resource, name_of(obj), namespace_of(obj)))
    return victims


class Deleter:
    """Deletes objects one by one; without a deadline it does not wait until they are gone."""

    def __init__(
        self, session: "Session", cascade: str, deadline: Deadline | None, ignore_not_found: bool, dry_run: bool
    ) -> None:
        self._session = session
        self._propagation = PROPAGATION[cascade]
        self._deadline = deadline
        self._ignore_not_found = ignore_not_found
        self._dry_run = dry_run

    async def delete(self, victims: Sequence[Victim]) -> AsyncIterator[Result]:
        """Results as they are known: failures at once, the others when they are gone."""
        going: list[tuple[Victim, str]] = []
        for victim in victims:
            try:
                answer = await self._ask(victim)
            except ApiError as error:
                if not (self._ignore_not_found and error.reason == "NotFound"):
                    yield Result(victim.word, victim.namespace, "failed", f"{victim.word}: {explain(error)}")
                continue
            if answer is None:
                yield Result(victim.word, victim.namespace, "failed", victim.problem)
            elif self._dry_run or self._deadline is None:
                yield Result(victim.word, victim.namespace, _outcome(answer, self._dry_run))
            else:
                going.append((victim, _uid(answer) or victim.uid))
        if self._deadline is not None and going:
            async with Progress(self._deadline) as progress:
                for victim, uid in going:
                    result = await self._gone(victim, uid, self._deadline, progress)
                    progress.clear()
                    yield result

    async def _ask(self, victim: Victim) -> Object | None:
        if victim.problem:
            return None
        if victim.resource is None:
            raise ApiError(404, "NotFound", "the server does not have this kind")
        return await self._session.client.delete(
            victim.resource,
            victim.name,
            victim.namespace,
            propagation=self._propagation,
            uid=victim.uid,
            dry_run=self._dry_run,
        )

    async def _gone(self, victim: Victim, uid: str, deadline: Deadline, progress: Progress) -> Result:
        goal = Deleted(uid, victim.holder)
        assert victim.resource is not None
        place = (victim.resource, victim.name, victim.namespace)
        try:
            await wait_for(self._session, *place, goal, deadline, progress, victim.word)
        except NotMetError as error:
            problem = f"{victim.word} is still there after {deadline.seconds:g} s: {error.seen}"
            return Result(victim.word, victim.namespace, "marked for deletion", problem)
        return Result(victim.word, victim.namespace, "deleted")


def _uid(answer: Object) -> str:
    """Of a Status about the object, or of the object itself."""
    return str((answer.get("details") or {}).get("uid") or answer["metadata"].get("uid") or "")


def _outcome(answer: Object, dry_run: bool) -> str:
    if dry_run:
        return "deleted (dry run)"
    metadata = answer.get("metadata") or {}
    lingers = metadata.get("deletionTimestamp") and (
        metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    )
    return "marked for deletion" if lingers else "deleted"
