"""Resources as discovery lists them: one form for each resource and subresource, another that nests them."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.standalone.resources.definition import Definition, Version


@dataclass(frozen=True, slots=True)
class _Subresource:
    """What a subresource speaks: "" for group and version are those of the resource, "" for the kind is its kind."""

    verbs: Sequence[str]
    kind: str = ""
    group: str = ""
    version: str = ""


_CHANGE = ("get", "patch", "update")
_STREAM = ("create", "get")
SUBRESOURCES = {
    "attach": _Subresource(_STREAM, "PodAttachOptions"),
    "binding": _Subresource(("create",), "Binding"),
    "eviction": _Subresource(("create",), "Eviction", "policy", "v1"),
    "exec": _Subresource(_STREAM, "PodExecOptions"),
    "finalize": _Subresource(("update",)),
    "log": _Subresource(("get",)),
    "portforward": _Subresource(_STREAM, "PodPortForwardOptions"),
    "scale": _Subresource(_CHANGE, "Scale", "autoscaling", "v1"),
    "status": _Subresource(_CHANGE),
    "token": _Subresource(("create",), "TokenRequest", "authentication.k8s.io", "v1"),
}
_OTHER = _Subresource(("get",))


def _subresources(definition: Definition, version: Version) -> list[tuple[str, _Subresource]]:
    """The subresources of a resource; `scale` only in versions that say where its numbers are."""
    names = [name for name in definition.subresources if name != "scale" or version.scale or not definition.custom]
    # Kubernetes lists its own by name, and those of custom resources the other way round.
    ordered = sorted(names, reverse=definition.custom)
    return [(name, SUBRESOURCES.get(name, _OTHER)) for name in ordered]


def _names(definition: Definition) -> Object:
    names: Object = {}
    if definition.short_names:
        names["shortNames"] = list(definition.short_names)
    if definition.categories:
        names["categories"] = list(definition.categories)
    return names


def legacy_entries(definition: Definition, version: Version) -> list[Object]:
    """The resource and its subresources, as items of an APIResourceList."""
    plain: Object = {"namespaced": definition.namespaced}
    entry: Object = {"name": definition.plural, "singularName": definition.singular, **plain}
    entry |= {"kind": definition.kind, "verbs": list(definition.verbs), **_names(definition)}
    if not definition.ephemeral:
        entry["storageVersionHash"] = storage_hash(definition)
    entries = [entry]
    for name, spoken in _subresources(definition, version):
        sub: Object = {"name": f"{definition.plural}/{name}", "singularName": "", **plain}
        if spoken.version:
            sub |= {"group": spoken.group, "version": spoken.version}
        entries.append({**sub, "kind": spoken.kind or definition.kind, "verbs": list(spoken.verbs)})
    return entries


def aggregated_entry(definition: Definition, version: Version) -> Object:
    """The resource with its subresources, as an item of an APIVersionDiscovery."""
    # Kubernetes leaves group and version out for its own kinds, meaning those of the list.
    own = (definition.group, version.name) if definition.custom else ("", "")
    entry: Object = {
        "resource": definition.plural,
        "responseKind": {"group": own[0], "version": own[1], "kind": definition.kind},
        "scope": "Namespaced" if definition.namespaced else "Cluster",
        "singularResource": definition.singular,
        "verbs": list(definition.verbs),
        **_names(definition),
    }
    subresources = []
    for name, spoken in _subresources(definition, version):
        group, sub_version = (spoken.group, spoken.version) if spoken.version else own
        kind = {"group": group, "version": sub_version, "kind": spoken.kind or definition.kind}
        subresources.append({"subresource": name, "responseKind": kind, "verbs": list(spoken.verbs)})
    if subresources:
        entry["subresources"] = subresources
    return entry


def storage_hash(definition: Definition) -> str:
    """Tells one stored form of a kind from another, as Kubernetes computes it."""
    group = "" if definition.storage_key else definition.group
    text = f"{group}/{definition.storage_version}/{definition.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()
