"""The extension server, of machines' subresources and upload tokens, behind an API server that has let the user in."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from importlib import metadata
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.typedefs import Middleware

from ingot.api import extensions
from ingot.api.cdi import uploadgroup
from ingot.api.kubevirt import subresources
from ingot.api.object import Object
from ingot.api.resources import UPLOAD_TOKEN_REQUESTS
from ingot.api.status import ApiError, internal, not_found, path_not_found, too_large
from ingot.control.subresources.agents import agent_of, agent_path, unavailable
from ingot.control.subresources.instances import CHECKS, KIND
from ingot.control.subresources.machines import Machines, find_instance
from ingot.control.subresources.options import (
    MAX_BODY,
    AnyOptions,
    Options,
    RestartOptions,
    StartOptions,
    StopOptions,
    decode,
)
from ingot.control.subresources.tokens import UploadTokens
from ingot.host import sockets
from ingot.kube.client import Client
from ingot.kube.transport import ConnectionFailed
from ingot.kube.tunnel import is_upgrade

log = logging.getLogger(__name__)

ROOT = f"/apis/{subresources.GROUP}"
SHUTDOWN_SECONDS = 1.0

Handle = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def serve(client: Client, socket: Path) -> None:
    """Serves on a unix socket, which only our own user may open, until it is cancelled."""
    runner = web.AppRunner(
        application(client), access_log=None, handler_cancellation=True, shutdown_timeout=SHUTDOWN_SECONDS
    )
    await runner.setup()
    try:
        await web.SockSite(runner, sockets.listen(socket)).start()
        await asyncio.get_running_loop().create_future()
    finally:
        await runner.cleanup()


def application(client: Client) -> web.Application:
    """All paths of the groups, in each of their versions."""
    made = _documented(extensions.GROUPS)
    _add_machines(made, client)
    _add_tokens(made, client)
    return made


def token_application(client: Client, guard: Middleware) -> web.Application:
    """The paths of upload tokens alone, for those whom `guard` lets in. It may raise ApiError."""
    made = _documented([group for group in extensions.GROUPS if group.name == uploadgroup.GROUP], guard)
    _add_tokens(made, client)
    return made


def _documented(groups: Iterable[extensions.Group], *guards: Middleware) -> web.Application:
    made = web.Application(middlewares=[_refusals, *guards], client_max_size=MAX_BODY)
    for group in groups:
        base = f"/apis/{group.name}"
        made.router.add_get(base, _document({"kind": "APIGroup", "apiVersion": "v1", **group.listed()}))
        for version in group.versions:
            made.router.add_get(f"{base}/{version}", _document(group.resources(version)))
    return made


def _add_tokens(made: web.Application, client: Client) -> None:
    tokens = UploadTokens(client)
    for version in uploadgroup.VERSIONS:
        path = f"/apis/{uploadgroup.GROUP}/{version}/namespaces/{{namespace}}/{UPLOAD_TOKEN_REQUESTS.plural}"
        made.router.add_post(path, _on_token(tokens, version))


def _add_machines(made: web.Application, client: Client) -> None:
    machines = Machines(client)
    for version in subresources.VERSIONS:
        base = f"{ROOT}/{version}"
        made.router.add_get(f"{base}/version", _document(_version()))
        made.router.add_get(f"{base}/healthz", _healthz(client))
        machine = f"{base}/namespaces/{{namespace}}/virtualmachines/{{name}}"
        made.router.add_put(f"{machine}/start", _on_machine(machines.start, StartOptions))
        made.router.add_put(f"{machine}/stop", _on_machine(machines.stop, StopOptions))
        made.router.add_put(f"{machine}/restart", _on_machine(machines.restart, RestartOptions))
        for act, verb in subresources.ACTS["virtualmachineinstances"].items():
            path = f"{base}/namespaces/{{namespace}}/virtualmachineinstances/{{name}}/{act}"
            made.router.add_route("GET" if verb == "get" else "PUT", path, _on_instance(client, act))


def _on_token(tokens: UploadTokens, version: str) -> Handle:
    async def handle(request: web.Request) -> web.Response:
        made = await tokens.create(request.match_info["namespace"], version, await request.read())
        _record(request)
        return web.json_response(made, status=201)

    return handle


def _on_machine(act: Callable[[str, str, AnyOptions], Awaitable[None]], kind: type[AnyOptions]) -> Handle:
    async def handle(request: web.Request) -> web.Response:
        options = decode(await request.read(), kind)
        await act(request.match_info["namespace"], request.match_info["name"], options)
        _record(request)
        return web.Response(status=202)

    return handle


def _on_instance(client: Client, act: str) -> Handle:
    async def handle(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        instance = await find_instance(client, request.match_info["namespace"], name)
        if instance is None:
            raise not_found("kubevirt.io", KIND, name)
        CHECKS[act](instance)
        options = decode(await request.read(), Options) if request.method == "PUT" else Options()
        agent = await agent_of(client, instance)
        _record(request)
        if is_upgrade(request):
            return await agent.tunnel(request, agent_path(instance, act), ())
        if options.is_dry:
            return web.Response(status=200)
        return await agent.forward(request, agent_path(instance, act), b"", ())

    return handle


def _record(request: web.Request) -> None:
    log.info("%s %s by %s", request.method, request.path, request.headers.get("X-Remote-User", "nobody"))


def _document(content: Object) -> Handle:
    async def handle(_: web.Request) -> web.Response:
        return web.json_response(content)

    return handle


def _healthz(client: Client) -> Handle:
    async def handle(_: web.Request) -> web.Response:
        version = await client.call("GET", "/version")
        return web.json_response({"apiserver": {"connectivity": "ok", "version": version}})

    return handle


def _version() -> Object:
    version = metadata.version("ingot")
    return {
        "gitVersion": f"v{version}+ingot",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "",
    }


@web.middleware
async def _refusals(request: web.Request, handler: Handle) -> web.StreamResponse:
    """Refusals as the wire has them."""
    try:
        return await handler(request)
    except ApiError as error:
        refusal = error
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
        refusal = path_not_found()
    except web.HTTPRequestEntityTooLarge:
        refusal = too_large(f"Request entity too large: limit is {MAX_BODY}")
    except ConnectionFailed as error:
        refusal = unavailable(f"the API server does not answer: {error.why}")
    except ConnectionError:
        raise
    except Exception as error:
        log.exception("%s %s failed", request.method, request.path)
        refusal = internal(f"{type(error).__name__}: {error}")
    return web.Response(
        body=msgspec.json.encode(refusal.status()), status=refusal.code, content_type="application/json"
    )
