"""One OpenAPI document for each group and version, the index of them, and one document of the older form."""

import hashlib
from collections.abc import Callable, Iterable

from ingot.api.object import Object
from ingot.standalone.discovery import JSON, Answer
from ingot.standalone.jsontext import encode
from ingot.standalone.openapi import gnostic
from ingot.standalone.openapi.components import components
from ingot.standalone.openapi.paths import paths
from ingot.standalone.openapi.swagger import swagger
from ingot.standalone.resources.definition import Definition, Version

INDEX = "/openapi/v3"
OLDER = "/openapi/v2"
# kube-apiserver leaves it to clients to guess what the index is.
TEXT = "text/plain; charset=utf-8"


class OpenApi:
    """The OpenAPI documents of a set of kinds. Each is made when it is first asked for, and kept."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._groups: dict[str, list[tuple[Definition, Version]]] = {}
        for definition in definitions:
            for version in definition.versions.values():
                if version.served:
                    self._groups.setdefault(_place(definition, version), []).append((definition, version))
        self._cache: dict[str, Answer] = {}

    def answer(self, path: str, accept: str = "") -> Answer | None:
        """The document at a path such as `/openapi/v3/apis/storage.k8s.io/v1`; None where there is none.

        Of the newer form only JSON is served: a client that asks for protobuf falls back to it.
        """
        if path == INDEX:
            return self._cached("", TEXT, lambda: encode(self._index()))
        if path == OLDER:
            return self._older("protobuf" in accept)
        place = path.removeprefix(f"{INDEX}/")
        return self._document(place) if place in self._groups else None

    def _document(self, place: str) -> Answer:
        return self._cached(place, JSON, lambda: encode(_document(self._groups[place])))

    def _older(self, protobuf: bool) -> Answer:
        kinds = [kind for group in self._groups.values() for kind in group]
        if protobuf:
            return self._cached("v2 in protobuf", gnostic.MEDIA, lambda: gnostic.document(swagger(kinds)))
        return self._cached("v2", JSON, lambda: encode(swagger(kinds)))

    def _index(self) -> Object:
        # The hash in the address lets a client keep a document for as long as it stays the same.
        tags = {place: self._document(place).etag.strip('"') for place in sorted(self._groups)}
        return {"paths": {place: {"serverRelativeURL": f"{INDEX}/{place}?hash={tag}"} for place, tag in tags.items()}}

    def _cached(self, place: str, media: str, make: Callable[[], bytes]) -> Answer:
        if place not in self._cache:
            content = make()
            tag = hashlib.sha256(content).hexdigest().upper()
            self._cache[place] = Answer(content, media, etag=f'"{tag}"')
        return self._cache[place]


def _place(definition: Definition, version: Version) -> str:
    return f"apis/{definition.group}/{version.name}" if definition.group else f"api/{version.name}"


def _document(kinds: list[tuple[Definition, Version]]) -> Object:
    found: Object = {}
    for definition, version in sorted(kinds, key=lambda kind: kind[0].plural):
        found |= paths(definition, version)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "v1.32.13"},
        "paths": dict(sorted(found.items())),
        "components": {
            "schemas": components(kinds),
            "securitySchemes": {
                "BearerToken": {
                    "type": "apiKey",
                    "description": "Bearer Token authentication",
                    "name": "authorization",
                    "in": "header",
                }
            },
        },
    }
