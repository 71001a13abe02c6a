"""An API server that only answers to `get`, for what resolving reads; and the objects it reads."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from ingot.api.resource import Resource
from ingot.api.status import not_found
from ingot.disks.place import Place

POD = "11111111-2222-3333-4444-555555555555"


class Objects:
    def __init__(self, *objects: dict[str, Any]) -> None:
        self.found = {self._key(obj["kind"], obj["metadata"]): obj for obj in objects}

    @staticmethod
    def _key(kind: str, metadata: dict[str, Any]) -> tuple[str, str, str]:
        return kind, metadata.get("namespace", ""), metadata["name"]

    async def get(self, resource: Resource, name: str, namespace: str = "") -> dict[str, Any]:
        try:
            return self.found[resource.kind, namespace, name]
        except KeyError:
            raise not_found(resource.group, resource.plural, name) from None


def place(directory: Path) -> Place:
    return Place("default", "node-1", POD, directory / "kubelet", directory / "ingot/node/machines" / POD)


def secret(name: str, namespace: str = "default", **data: bytes) -> dict[str, Any]:
    """Keys with dots are written with two underscores."""
    encoded = {key.replace("__", "."): base64.b64encode(value).decode() for key, value in data.items()}
    return {"kind": "Secret", "metadata": {"name": name, "namespace": namespace}, "data": encoded}


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def claim(name: str = "claim", pv: str = "pv-1", phase: str = "Bound") -> dict[str, Any]:
    return {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"volumeName": pv},
        "status": {"phase": phase},
    }


def volume(mode: str = "Filesystem", name: str = "pv-1", claimed: str = "claim", **source: Any) -> dict[str, Any]:
    """A PersistentVolume that is bound to the claim."""
    reference = {"namespace": "default", "name": claimed, "uid": f"uid-{claimed}"}
    spec = {"volumeMode": mode, "claimRef": reference, **source}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
