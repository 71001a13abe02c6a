"""The environment of a container, and what $(NAME) stands for."""

import base64
import re
from collections.abc import Mapping
from typing import Any

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, SECRETS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.standalone.pods.downward import field, resource_field
from ingot.standalone.pods.fault import PodFault

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` by its value, as Kubernetes does: an unknown name stays as it is, and `$$` is a dollar."""

    def value(match: re.Match[str]) -> str:
        if match[1] is None:
            return "$"
        return known.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


async def environment(client: Client, pod: Object, container: Object, given: Mapping[str, str]) -> dict[str, str]:
    """What the pod says on top of what is `given`. Raises PodFault when something that it refers to is missing."""
    result = dict(given)
    for source in container.get("envFrom") or ():
        prefix = source.get("prefix") or ""
        for resource, key in ((CONFIG_MAPS, "configMapRef"), (SECRETS, "secretRef")):
            if key in source:
                found = await content(client, resource, pod, source[key]["name"], source[key].get("optional", False))
                result |= {f"{prefix}{name}": value.decode(errors="replace") for name, value in (found or {}).items()}
    for variable in container.get("env") or ():
        value = await _value(client, pod, container, variable, result)
        if value is not None:
            result[variable["name"]] = value
    return result


async def _value(
    client: Client, pod: Object, container: Object, variable: Object, known: Mapping[str, str]
) -> str | None:
    source: dict[str, Any] = variable.get("valueFrom") or {}
    if not source:
        return expanded(variable.get("value") or "", known)
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"])
    if "resourceFieldRef" in source:
        return resource_field(pod, container, source["resourceFieldRef"])
    for resource, kind in ((CONFIG_MAPS, "configMapKeyRef"), (SECRETS, "secretKeyRef")):
        if kind in source:
            return await _key(client, resource, pod, variable["name"], source[kind])
    raise PodFault("CreateContainerConfigError", f"env {variable['name']}: valueFrom {', '.join(source)} is unknown")


async def _key(client: Client, resource: Resource, pod: Object, variable: str, wanted: Object) -> str | None:
    optional = bool(wanted.get("optional", False))
    found = await content(client, resource, pod, wanted["name"], optional)
    if found is not None and wanted["key"] in found:
        return found[wanted["key"]].decode(errors="replace")
    if optional:
        return None
    why = f"env {variable}: {resource.kind} {wanted['name']!r} has no key {wanted['key']!r}; add it"
    raise PodFault("CreateContainerConfigError", why)


async def content(
    client: Client, resource: Resource, pod: Object, name: str, optional: bool
) -> dict[str, bytes] | None:
    """What is in a ConfigMap or Secret; None for a missing one that is `optional`. Raises PodFault."""
    namespace = pod["metadata"]["namespace"]
    try:
        found = await client.get(resource, name, namespace)
    except ApiError as error:
        if error.code != 404:
            raise
        if optional:
            return None
        why = f"{resource.kind} {namespace}/{name} is not there; create it"
        raise PodFault("CreateContainerConfigError", why) from error
    if resource is SECRETS:
        return {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}
    plain = {key: value.encode() for key, value in (found.get("data") or {}).items()}
    return plain | {key: base64.b64decode(value) for key, value in (found.get("binaryData") or {}).items()}
