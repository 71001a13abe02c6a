"""Server-side apply of manifests, one by one, in an order that works."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot.api.object import Object, name_of, namespace_of, split_api_version
from ingot.api.resource import Resource
from ingot.api.status import ApiError
from ingot.cli.manifest import Manifest, ManifestError, Place
from ingot.cli.refusal import refusal
from ingot.cli.target import object_word
from ingot.kube.client import Patch
from ingot.kube.discovery import UnknownResource
from ingot.kube.objects import is_true

if TYPE_CHECKING:
    from ingot.cli.connection import Session

MANAGER = "ingot"
CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False)
# How long a server may take until it serves a new kind; it takes most less than a second.
ESTABLISH_SECONDS = 30.0
_PAUSE = 0.1
_BOOKS = ("managedFields", "resourceVersion", "generation")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one document: `outcome` is created, configured, unchanged, unchecked or failed."""

    place: Place
    outcome: str
    word: str = ""
    namespace: str = ""
    problem: str = ""

    def as_object(self) -> Object:
        said = {
            "file": self.place.file,
            "document": self.place.document,
            "object": self.word,
            "namespace": self.namespace,
            "result": self.outcome,
            "problem": self.problem,
        }
        return {key: value for key, value in said.items() if value}


def result_of(error: ManifestError) -> Result:
    return Result(error.place, "failed", problem=error.problem)


class Applier:
    """Applies manifests through a session; every refusal becomes a Result, and the next one is applied."""

    def __init__(self, session: "Session", *, dry_run: bool, force: bool) -> None:
        self._session = session
        self._dry_run = dry_run
        self._force = force
        self._new_kinds: set[tuple[str, str]] = set()
        self._new_namespaces: set[str] = set()

    async def apply(self, manifests: Sequence[Manifest]) -> AsyncIterator[Result]:
        for manifest in in_order(manifests):
            try:
                yield await self._one(manifest)
            except ApiError as error:
                yield self._failed(manifest, refusal(manifest, error))
            except UnknownResource:
                yield self._of_unknown_kind(manifest)
            except ManifestError as error:
                yield self._failed(manifest, error.problem)

    def _failed(self, manifest: Manifest, problem: str) -> Result:
        word = object_word(manifest.obj)
        return Result(manifest.place, "failed", word, namespace_of(manifest.obj), f"{word}: {problem}")

    async def _one(self, manifest: Manifest) -> Result:
        resource = await self._session.discovery.of(manifest.obj)
        obj = in_namespace(manifest, resource, self._session)
        word = object_word(obj)
        if self._dry_run and namespace_of(obj) in self._new_namespaces:
            return Result(manifest.place, "not checked (its namespace is only made without --dry-run)", word)
        before = await self._find(resource, obj)
        after = await self._patch(resource, obj)
        outcome = "created" if before is None else "configured" if _content(before) != _content(after) else "unchanged"
        if resource.kind == "Namespace" and before is None:
            self._new_namespaces.add(name_of(obj))
        if resource.kind == CRDS.kind and resource.group == CRDS.group:
            await self._establish(after)
        return Result(manifest.place, outcome + (" (dry run)" if self._dry_run else ""), word, namespace_of(obj))

    async def _find(self, resource: Resource, obj: Object) -> Object | None:
        try:
            return await self._session.client.get(resource, name_of(obj), namespace_of(obj))
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return None

    async def _patch(self, resource: Resource, obj: Object) -> Object:
        """The client's apply, and that the server refuses fields that it does not know instead of dropping them."""
        parameters = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
        if self._force:
            parameters["force"] = "true"
        if self._dry_run:
            parameters["dryRun"] = "All"
        path = resource.path(namespace_of(obj), name_of(obj))
        return await self._session.client.call("PATCH", path, obj, parameters, Patch.APPLY)

    async def _establish(self, crd: Object) -> None:
        """Wait until the new kind is served, so that objects of it can follow."""
        spec = crd["spec"]
        if self._dry_run:
            self._new_kinds.add((spec["group"], spec["names"]["kind"]))
            return
        deadline = asyncio.get_running_loop().time() + ESTABLISH_SECONDS
        while not (is_true(crd, "Established") and await self._is_served(spec)):
            if asyncio.get_running_loop().time() > deadline:
                conditions = crd.get("status", {}).get("conditions") or []
                said = "; ".join(str(each.get("message", "")) for each in conditions if each.get("status") != "True")
                raise ApiError(504, "Timeout", f"is stored, but not served after {ESTABLISH_SECONDS:g} s: {said}")
            await asyncio.sleep(_PAUSE)
            crd = await self._session.client.get(CRDS, name_of(crd))

    async def _is_served(self, spec: Object) -> bool:
        self._session.discovery.forget()
        known = {(each.resource.group, each.resource.kind) for each in await self._session.discovery.all()}
        return (spec["group"], spec["names"]["kind"]) in known

    def _of_unknown_kind(self, manifest: Manifest) -> Result:
        api_version, kind = manifest.obj["apiVersion"], manifest.obj["kind"]
        if (split_api_version(api_version)[0], kind) in self._new_kinds:
            why = "not checked (its kind is only made without --dry-run)"
            return Result(manifest.place, why, object_word(manifest.obj))
        problem = (
            f"the server has no kind {kind} in {api_version}\n"
            "  Check both for misspelling; if it is a custom kind, apply its CustomResourceDefinition first."
        )
        return self._failed(manifest, problem)


def in_order(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Namespaces and kinds before what lives in them, otherwise as written."""

    def rank(manifest: Manifest) -> int:
        group, _ = split_api_version(manifest.obj["apiVersion"])
        return {("", "Namespace"): 0, (CRDS.group, CRDS.kind): 1}.get((group, manifest.obj["kind"]), 2)

    return sorted(manifests, key=rank)


def in_namespace(manifest: Manifest, resource: Resource, session: "Session") -> Object:
    """The object in the namespace that it says, or else in the session's. Raises ManifestError when they differ."""
    metadata = dict(manifest.obj["metadata"])
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = session.namespace
    elif session.namespace_given and metadata["namespace"] != session.namespace:
        problem = f"its metadata.namespace is {metadata['namespace']}, but --namespace is {session.namespace}"
        raise ManifestError(manifest.place, f"{problem}; leave one of them out")
    return {**manifest.obj, "metadata": metadata}


def _content(obj: Object) -> Object:
    """The object without the book-keeping that an apply may change though nothing else does."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _BOOKS}
    return {**obj, "metadata": metadata}
