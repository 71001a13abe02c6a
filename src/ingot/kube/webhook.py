"""Admission and conversion webhooks: what kube-apiserver calls to ask us about objects."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import msgspec
from aiohttp import web

from ingot.api.object import Object, name_of
from ingot.api.status import ApiError, Cause, invalid
from ingot.kube.certificate import ServingCertificate
from ingot.kube.change import json_patch
from ingot.kube.objects import copy_of

T = TypeVar("T")
R = TypeVar("R")

# Two versions of an object of at most 3 MiB, and what is around them.
BODY_BYTES = 8 << 20


class GroupVersionKind(msgspec.Struct):
    group: str
    version: str
    kind: str


class AdmissionRequest(msgspec.Struct, rename="camel"):
    """What is asked: may `user_info` do `operation` (CREATE, UPDATE, DELETE, CONNECT) with this object?"""

    uid: str
    operation: str
    kind: GroupVersionKind
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: Object = {}
    dry_run: bool = False
    object: Object | None = None
    old_object: Object | None = None


class _AdmissionReview(msgspec.Struct, rename="camel"):
    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: AdmissionRequest


class _ConversionRequest(msgspec.Struct):
    uid: str
    objects: list[Object]
    desired: str = msgspec.field(name="desiredAPIVersion")


class _ConversionReview(msgspec.Struct, rename="camel"):
    api_version: Literal["apiextensions.k8s.io/v1"]
    kind: Literal["ConversionReview"]
    request: _ConversionRequest


# All of these may be coroutine functions, and refuse by raising ApiError.
# Review: the JSON patch to apply, [] for none. Admit: (object, old, operation) -> the object as it shall be.
# Validate: (object, old) -> what is wrong. Convert: (object, apiVersion) -> the object in that version.
Review: TypeAlias = Callable[[AdmissionRequest], list[Object] | Awaitable[list[Object]]]
Admit: TypeAlias = Callable[[Object, Object | None, str], Object | Awaitable[Object]]
Validate: TypeAlias = Callable[[Object, Object | None], list[Cause] | Awaitable[list[Cause]]]
Convert: TypeAlias = Callable[[Object, str], Object | Awaitable[Object]]


async def _value(result: T | Awaitable[T]) -> T:
    return await result if inspect.isawaitable(result) else result


class WebhookServer:
    """Serves webhooks over TLS, and /readyz. A certificate that is replaced on disk is in use seconds later.

    What is not a proper review gets 400. A function that fails gets 500, and then the failurePolicy of the webhook
    decides. One that raises ApiError denies the request with that status.
    """

    def __init__(self, certificate: Path, key: Path, *, host: str | None = None, port: int = 9443) -> None:
        """Listens on all addresses unless `host` is given; port 0 takes a free one, which `port` tells then."""
        self.port = port
        self.ready = asyncio.Event()
        self._certificate = ServingCertificate(certificate, key)
        self._host = host
        self._app = web.Application(client_max_size=BODY_BYTES)
        self._app.router.add_get("/readyz", _ready)

    def review(self, path: str, review: Review) -> None:
        """Answer AdmissionReviews at `path` from the whole request: who, what, dry run or not."""

        async def handle(request: web.Request) -> web.Response:
            asked = (await _body(request, _AdmissionReview)).request
            response: Object = {"uid": asked.uid, "allowed": True}
            try:
                patch = await _value(review(asked))
            except ApiError as error:
                response |= {"allowed": False, "status": error.status()}
            else:
                if patch:
                    # As bytes, which become base64 in JSON: so the wire wants it.
                    response |= {"patchType": "JSONPatch", "patch": msgspec.json.encode(patch)}
            return _answer("admission.k8s.io/v1", "AdmissionReview", response)

        self._app.router.add_post(path, handle)

    def mutate(self, path: str, admit: Admit) -> None:
        """Make of each created or updated object what `admit` returns; it may alter what it is given."""

        async def review(request: AdmissionRequest) -> list[Object]:
            if request.object is None:
                return []
            wanted = await _value(admit(copy_of(request.object), request.old_object, request.operation))
            return json_patch(request.object, wanted)

        self.review(path, review)

    def validate(self, path: str, validate: Validate) -> None:
        """Refuse each created or updated object in which `validate` finds something wrong, naming all of it."""
        self.review(path, validating(validate))

    def convert(self, path: str, convert: Convert) -> None:
        """Answer ConversionReviews at `path`; objects that have the wanted version already are left as they are."""

        async def handle(request: web.Request) -> web.Response:
            asked = (await _body(request, _ConversionReview)).request
            response: Object = {"uid": asked.uid, "convertedObjects": [], "result": {"status": "Success"}}
            try:
                for obj in asked.objects:
                    there = obj.get("apiVersion") == asked.desired
                    converted = obj if there else await _value(convert(obj, asked.desired))
                    response["convertedObjects"].append(converted)
            except ApiError as error:
                response |= {"convertedObjects": [], "result": error.status()}
            return _answer("apiextensions.k8s.io/v1", "ConversionReview", response)

        self._app.router.add_post(path, handle)

    async def run(self) -> None:
        """Serve until cancelled."""
        runner = web.AppRunner(self._app, access_log=None, handler_cancellation=True, shutdown_timeout=5)
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self.port, ssl_context=self._certificate.context())
            await site.start()
            self.port = runner.addresses[0][1]
            self.ready.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


def validating(validate: Validate) -> Callable[[AdmissionRequest], Awaitable[list[Object]]]:
    """The review that refuses objects in which `validate` finds something wrong, for those who review more."""

    async def review(request: AdmissionRequest) -> list[Object]:
        if request.object is None:
            return []
        if causes := await _value(validate(request.object, request.old_object)):
            name = request.name or name_of(request.object)
            raise invalid(request.kind.group, request.kind.kind, name, causes)
        return []

    return review


async def _ready(_: web.Request) -> web.Response:
    return web.Response(text="ok")


async def _body(request: web.Request, kind: type[R]) -> R:
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise web.HTTPBadRequest(text=f"not a review that we understand: {error}") from error


def _answer(api_version: str, kind: str, response: Object) -> web.Response:
    review = {"apiVersion": api_version, "kind": kind, "response": response}
    return web.Response(body=msgspec.json.encode(review), content_type="application/json")
