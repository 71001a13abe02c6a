"""Verbs on objects: each request finds its kind, its verb and its subresource here."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from aiohttp import web

from ingot.api.object import name_of
from ingot.api.resources import TEMPLATES
from ingot.api.status import ApiError, path_not_found, too_large
from ingot.standalone.access.reviews import Reviews
from ingot.standalone.access.user import User
from ingot.standalone.builtin.kinds.reviews import SENT
from ingot.standalone.http import answers, lists
from ingot.standalone.http.forms import Former
from ingot.standalone.http.negotiate import indented, negotiate
from ingot.standalone.http.target import Target
from ingot.standalone.http.watch import Watch
from ingot.standalone.objects import (
    creator,
    deleter,
    deletion,
    identity,
    intake,
    patcher,
    pods,
    processed,
    reader,
    scale,
    updater,
)
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.world import World
from ingot.standalone.resources.served import Served

# kube-apiserver's own limit for a request's body.
MAX_BODY = 3 << 20
# Likewise, for a whole request that is no watch.
BODY_SECONDS = 60.0
SUBRESOURCE_VERBS = {**dict.fromkeys(SENT, ("create",)), "finalize": ("update",)}


class Verbs:
    """Answers requests on resources."""

    def __init__(self, world: World, reviews: Reviews) -> None:
        self._world = world
        self._reviews = reviews
        self._sent = {name: Served(kind, kind.versions[kind.storage_version]) for name, kind in SENT.items()}
        self._watches: set[Watch] = set()

    def end_watches(self) -> None:
        for watch in tuple(self._watches):
            watch.end()

    async def answer(self, request: web.BaseRequest, found: Target, verb: str, user: User) -> web.StreamResponse:
        if (found.group, found.version, found.plural) == processed.KEY:
            if verb != "create" or found.name:
                raise path_not_found()
            call = self._call(request, replace(found, plural=TEMPLATES.plural), verb, user)
            response = await self._process(request, call)
        else:
            call = self._call(request, found, verb, user)
            _check_verb(call)
            response = await self._dispatch(request, call)
        version = call.served.version
        if version.deprecated:
            call.warnings.append(version.deprecation_warning)
        answers.warn(response, call.warnings)
        if indented(call.query, call.agent):
            answers.indent(response)
        return response

    def _call(self, request: web.BaseRequest, found: Target, verb: str, user: User) -> Call:
        served = self._world.catalog.find(found.group, found.version, found.plural)
        if served is None:
            raise path_not_found()
        definition = served.definition
        is_namespace = definition.key == "namespaces"
        namespace = "" if is_namespace else found.namespace
        if bool(namespace) > definition.namespaced:
            raise path_not_found()
        if definition.namespaced and not namespace and found.name:
            raise path_not_found()
        agent = request.headers.get("User-Agent", "")
        query: Mapping[str, str] = request.query
        if found.watched and found.name:
            query = {**query, "fieldSelector": f"metadata.name={found.name}"}
        return Call(served, verb, namespace, found.name, found.subresource, user, query, agent)

    async def _dispatch(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        form = negotiate(request.headers.get("Accept", ""), call.served.definition.custom)
        former = Former(call.served, form, call.query.get("includeObject", ""))
        if call.subresource == "scale":
            return await self._scale(request, call)
        if call.subresource in SENT or call.served.definition.ephemeral:
            return await self._review(request, call, former)
        match call.verb:
            case "get":
                return _written(former, former.entry(reader.get(self._world.store, call)))
            case "list":
                return _listed(former, call, reader.list_entries(self._world.store, call))
            case "watch":
                return await self._watch(request, call, former)
            case "delete" | "deletecollection":
                return await self._delete(request, call, former)
        return await self._write(request, call, former)

    async def _watch(self, request: web.BaseRequest, call: Call, former: Former) -> web.StreamResponse:
        watch = Watch(self._world.store, call, former)
        self._watches.add(watch)
        try:
            return await watch.run(request)
        finally:
            self._watches.discard(watch)

    async def _write(self, request: web.BaseRequest, call: Call, former: Former) -> web.StreamResponse:
        raw = await read_body(request)
        media = request.headers.get("Content-Type", "")
        created = call.verb == "create"
        if call.verb == "patch":
            obj, created = await patcher.patch(self._world, call, media, raw)
        else:
            taken = intake.take(call, identity.read(call, raw, media))
            if created:
                obj = await creator.create(self._world, call, taken)
            else:
                obj, created = await updater.replace(self._world, call, taken)
        return _written(former, former.one(obj), 201 if created else 200)

    async def _process(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        former = Former(call.served, negotiate(request.headers.get("Accept", ""), True), "")
        raw, media = await read_body(request), request.headers.get("Content-Type", "")
        filled = processed.fill(call, intake.take(call, identity.read(call, raw, media)))
        return _written(former, former.one(filled), 201)

    async def _review(self, request: web.BaseRequest, call: Call, former: Former) -> web.StreamResponse:
        posed = replace(call, served=self._sent[call.subresource]) if call.subresource else call
        raw, media = await read_body(request), request.headers.get("Content-Type", "")
        given = intake.take(posed, identity.read(posed, raw, media))
        managed = posed.served.fields(call.subresource).update(None, given, call.manager, call.timestamp)
        intake.manage(given, managed)
        if call.served.definition is SENT["binding"]:
            call = self._binding(call, name_of(given))
        if call.subresource in ("binding", "eviction"):
            made = await pods.act(self._world, call, given)
        elif call.subresource:
            made = self._reviews.token_request(given, call.namespace, call.name)
        else:
            made = self._reviews.answer(call.served.definition.plural, given, call.user, call.namespace)
        return _written(former, former.one(made), 201)

    def _binding(self, call: Call, name: str) -> Call:
        """The call that the old way to bind a pod stands for."""
        pods_served = self._world.catalog.find("", "v1", "pods")
        assert pods_served
        return replace(call, served=pods_served, name=name, subresource="binding")

    async def _delete(self, request: web.BaseRequest, call: Call, former: Former) -> web.StreamResponse:
        chosen = deletion.read(call, await read_body(request), request.headers.get("Content-Type", ""))
        if call.verb == "delete":
            return _written(former, former.one(await deleter.delete(self._world, call, chosen)))
        return _listed(former, call, await deleter.delete_collection(self._world, call, chosen))

    async def _scale(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        if call.verb == "get":
            entry = reader.get(self._world.store, call)
            return answers.document(scale.of(call.served, call.served.read(entry)))
        media, raw = request.headers.get("Content-Type", ""), await read_body(request)
        return answers.document(await scale.write(self._world, call, media, raw))


def _check_verb(call: Call) -> None:
    definition = call.served.definition
    if call.subresource and call.subresource not in definition.subresources:
        raise path_not_found()
    allowed = (
        SUBRESOURCE_VERBS.get(call.subresource, ("get", "patch", "update")) if call.subresource else definition.verbs
    )
    if call.verb not in allowed or not _belongs(call):
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def _belongs(call: Call) -> bool:
    """Whether the verb is one for what the path names: an object, or a collection in its namespace."""
    if call.verb in ("update", "patch"):
        return bool(call.name)
    if call.verb in ("create", "deletecollection"):
        in_place = bool(call.namespace) or not call.served.definition.namespaced
        return in_place and bool(call.name) == bool(call.subresource)
    return True


def _written(former: Former, content: bytes, code: int = 200) -> web.Response:
    return answers.answer(content, code, former.form.media)


def _listed(former: Former, call: Call, listing: reader.Listing) -> web.StreamResponse:
    return answers.stream(lists.pieces(former, listing, indented(call.query, call.agent)), former.form.media)


async def read_body(request: web.BaseRequest, seconds: float = BODY_SECONDS) -> bytes:
    """The whole body; 413 as soon as it is known to be too long, 504 when it does not come in time."""
    if (request.content_length or 0) > MAX_BODY:
        raise too_large(f"Request entity too large: limit is {MAX_BODY}")
    if not request.can_read_body:
        return b""
    try:
        async with asyncio.timeout(seconds):
            return await request.read()
    except TimeoutError:
        raise ApiError(504, "Timeout", "Timeout: request did not complete within the allotted timeout") from None
