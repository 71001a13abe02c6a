"""Discovery: which groups, versions and resources are served, in the legacy form and in the aggregated one."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from ingot.api import extensions
from ingot.api.object import Object, join_api_version
from ingot.standalone.discovery.entries import aggregated_entry, legacy_entries
from ingot.standalone.discovery.versions import preferred_first, version_info
from ingot.standalone.jsontext import encode
from ingot.standalone.resources.definition import Definition

JSON = "application/json"
AGGREGATED = "apidiscovery.k8s.io"
# Kubernetes' own groups come first, in its order; the others follow by name.
_GROUPS = (
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A document for the wire."""

    content: bytes
    media: str = JSON
    etag: str = ""


class Discovery:
    """The discovery documents of a set of kinds. Each is made when it is first asked for.

    With `extended`, the lists of groups name those of the extension server, which describes its own resources.
    """

    def __init__(self, definitions: Iterable[Definition], *, extended: bool = False) -> None:
        self._extended = extended
        self._groups: dict[str, dict[str, list[Definition]]] = {}
        for definition in sorted(definitions, key=lambda each: each.plural):
            for version in definition.versions.values():
                if version.served:
                    versions = self._groups.setdefault(definition.group, {})
                    versions.setdefault(version.name, []).append(definition)
        self._cache: dict[tuple[str, str], Answer] = {}

    def answer(self, path: str, accept: str = "") -> Answer | None:
        """The document at a path such as `/apis/storage.k8s.io`; None where there is none."""
        form = negotiated(accept) if path in ("/api", "/apis") else ""
        key = (path, form)
        if key not in self._cache:
            made = self._aggregated(path, form) if form else self._legacy(path)
            if made is None:
                return None
            self._cache[key] = made
        return self._cache[key]

    def _legacy(self, path: str) -> Answer | None:
        parts = path.strip("/").split("/")
        match parts:
            case ["version"]:
                return _answer(version_info())
            case ["api"]:
                return _answer({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
            case ["apis"]:
                groups = [self._group(group) for group in self._order() if group]
                groups += [group.listed() for group in extensions.GROUPS] if self._extended else []
                return _answer({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
            case ["apis", group] if group in self._groups:
                return _answer({"kind": "APIGroup", "apiVersion": "v1", **self._group(group)})
            case ["api", version] if version in self._groups.get("", {}):
                return self._resources("", version)
            case ["apis", group, version] if version in self._groups.get(group, {}):
                return self._resources(group, version)
        return None

    def _order(self) -> list[str]:
        known = [group for group in _GROUPS if group in self._groups]
        return known + sorted(group for group in self._groups if group not in _GROUPS)

    def _versions(self, group: str) -> list[str]:
        return preferred_first(list(self._groups[group]))

    def _group(self, group: str) -> Object:
        versions = [{"groupVersion": f"{group}/{name}", "version": name} for name in self._versions(group)]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, group: str, version: str) -> Answer:
        found = self._groups[group][version]
        head: Object = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        head["groupVersion"] = join_api_version(group, version)
        listed = [entry for definition in found for entry in legacy_entries(definition, definition.versions[version])]
        return _answer({**head, "resources": listed})

    def _aggregated(self, path: str, form: str) -> Answer:
        groups = [""] if path == "/api" else [group for group in self._order() if group]
        items = [self._aggregated_group(group) for group in groups if group in self._groups]
        if self._extended and path == "/apis":
            items += [group.aggregated() for group in extensions.GROUPS]
        body = {"kind": "APIGroupDiscoveryList", "apiVersion": f"{AGGREGATED}/{form}", "metadata": {}, "items": items}
        content = encode(body)
        media = f"{JSON};g={AGGREGATED};v={form};as=APIGroupDiscoveryList"
        return Answer(content, media, etag(content))

    def _aggregated_group(self, group: str) -> Object:
        versions = [
            {
                "version": version,
                "resources": [
                    aggregated_entry(definition, definition.versions[version])
                    for definition in self._groups[group][version]
                ],
                "freshness": "Current",
            }
            for version in self._versions(group)
        ]
        head = {"name": group} if group else {}
        return {"metadata": {**head, "creationTimestamp": None}, "versions": versions}


def negotiated(accept: str) -> str:
    """The version of the aggregated form that an Accept header asks for first; "" for the legacy form."""
    for clause in accept.split(","):
        media, *parameters = (part.strip() for part in clause.split(";"))
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        if media != JSON:
            continue
        if not options:
            return ""
        if options.get("g") == AGGREGATED and options.get("as") == "APIGroupDiscoveryList":
            version = options.get("v", "")
            if version in ("v2", "v2beta1"):
                return version
    return ""


def etag(content: bytes) -> str:
    return f'"{hashlib.sha256(content).hexdigest().upper()}"'


def _answer(body: Object) -> Answer:
    return Answer(encode(body))
