"""Paths that are not objects: health, version, discovery and OpenAPI."""

from collections.abc import Callable

from aiohttp import web

from ingot.api.status import ApiError, path_not_found
from ingot.standalone.discovery import Discovery
from ingot.standalone.http import answers
from ingot.standalone.http.health import TEXT, Health
from ingot.standalone.openapi import OpenApi
from ingot.standalone.resources.catalog import Catalog


class Documents:
    """Answers from what the catalog says, and keeps the answers until the catalog changes."""

    def __init__(self, catalog: Catalog, ready: Callable[[], bool], *, extended: bool = False) -> None:
        """With `extended`, discovery names the group of the extension server too."""
        self._catalog = catalog
        self._extended = extended
        self._health = Health(ready)
        self._generation = -1
        self._discovery = Discovery([])
        self._openapi = OpenApi([])

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path.rstrip("/") or "/"
        health = self._health.answer(path, request.query) if request.method in ("GET", "HEAD") else None
        if health is None and request.method != "GET":
            raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
        return health or self._described(path, request)

    def _described(self, path: str, request: web.BaseRequest) -> web.StreamResponse:
        self._refresh()
        accept = request.headers.get("Accept", "")
        found = self._discovery.answer(path, accept) or self._openapi.answer(path, accept)
        if found is None:
            return self._missing(path.strip("/").split("/"))
        headers = {"ETag": found.etag} if found.etag else {}
        if found.etag and request.headers.get("If-None-Match") == found.etag:
            return web.Response(status=304, headers=headers)
        return answers.answer(found.content, media=found.media, headers=headers)

    def _missing(self, parts: list[str]) -> web.Response:
        """An unknown version of one of Kubernetes' own groups is refused with a Status, all else with plain text."""
        match parts:
            case ["api", _]:
                raise path_not_found()
            case ["apis", group, _] if any(kind.group == group and not kind.custom for kind in self._catalog):
                raise path_not_found()
        return answers.answer(b"404 page not found\n", 404, media=TEXT)

    def _refresh(self) -> None:
        if self._generation != self._catalog.generation:
            definitions = list(self._catalog)
            self._discovery = Discovery(definitions, extended=self._extended)
            self._openapi = OpenApi(definitions)
            self._generation = self._catalog.generation
