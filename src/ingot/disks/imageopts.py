"""Endpoints as QEMU's tools take them: an image's options in JSON, and secrets in private files that soon go.

Options in JSON say everything (`"backing": null` has no other form), need no escaping, and never hold a secret.
"""

import base64
import contextlib
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ingot.api.kubevirt.uri import HostPort
from ingot.api.object import Object
from ingot.disks.endpoint import Block, Endpoint, File, Format, Network

_SECRET = "secret0"  # noqa: S105 - the name of QEMU's object


@dataclass(frozen=True, slots=True)
class Image:
    """An endpoint for a tool: `arguments` come before the image's `name`."""

    name: str
    arguments: tuple[str, ...]


@contextlib.contextmanager
def image(endpoint: Endpoint, scratch: Path) -> Iterator[Image]:
    """The endpoint, as long as the context lasts. Its secret is meanwhile in a file in `scratch` that only we can read.

    Below an overlay there may be an endpoint with a secret too; there is only one in a chain.
    """
    arguments: tuple[str, ...] = ()
    path = scratch / f"secret-{secrets.token_hex(8)}"
    try:
        if (secret := _secret(endpoint)) is not None:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(base64.b64encode(secret))
            options = {"qom-type": "secret", "id": _SECRET, "file": str(path), "format": "base64"}
            arguments = ("--object", json.dumps(options))
        yield Image("json:" + json.dumps(options_of(endpoint)), arguments)
    finally:
        path.unlink(missing_ok=True)


def options_of(endpoint: Endpoint) -> Object:
    """The endpoint's options, as for -blockdev. What a qcow2 itself says of its backing is never followed."""
    options: Object = {"driver": str(endpoint.format), "file": _storage(endpoint)}
    if endpoint.format is Format.QCOW2:
        below = endpoint.backing if isinstance(endpoint, File) else None
        options["backing"] = options_of(below) if below is not None else None
    return options


def told(endpoint: Endpoint) -> str:
    """Where an endpoint's bytes come from, for people."""
    return (isinstance(endpoint, Network) and endpoint.origin) or address(endpoint)


def address(endpoint: Endpoint) -> str:
    """Where an endpoint is, for the header of an overlay; it holds no secret."""
    if not isinstance(endpoint, Network):
        return str(endpoint.path)
    name = quote(endpoint.name)
    if endpoint.socket is not None:
        return f"nbd+unix:///{name}?socket={quote(str(endpoint.socket))}"
    if endpoint.protocol == "rbd":
        monitors = "\\;".join(_portal(host).replace(":", "\\:") for host in endpoint.hosts)
        return f"rbd:{endpoint.name}:mon_host={monitors}"
    host = _portal(endpoint.hosts[0])
    if endpoint.protocol in ("http", "https"):
        # A query may be a token, and it is no place.
        return f"{endpoint.protocol}://{host}{endpoint.name.partition('?')[0]}"
    if endpoint.protocol == "iscsi":
        return f"iscsi://{host}/{endpoint.name}/{endpoint.lun}"
    return f"{endpoint.protocol}://{host}/{name}"


def _secret(endpoint: Endpoint) -> bytes | None:
    if isinstance(endpoint, Network):
        return endpoint.credentials.secret if endpoint.credentials is not None else None
    below = endpoint.backing if isinstance(endpoint, File) else None
    return _secret(below) if below is not None else None


def _storage(endpoint: Endpoint) -> Object:
    match endpoint:
        case File():
            return {"driver": "file", "filename": str(endpoint.reach)}
        case Block():
            return {"driver": "host_device", "filename": str(endpoint.path)}
        case Network():
            return _network(endpoint)


def _network(endpoint: Network) -> Object:
    match endpoint.protocol:
        case "nbd" if endpoint.tls is None:
            return {"driver": "nbd", "export": endpoint.name, "server": _server(endpoint)}
        case "iscsi":
            return _iscsi(endpoint)
        case "rbd":
            return _rbd(endpoint)
        case "gluster":
            volume, _, path = endpoint.name.partition("/")
            servers = [{"type": "inet", "host": host.host, "port": str(host.port)} for host in endpoint.hosts]
            return {"driver": "gluster", "volume": volume, "path": path, "server": servers}
        case _:
            raise ValueError(f"{endpoint.protocol} to {endpoint.hosts} is reached through a bridge, not by QEMU itself")


def _server(endpoint: Network) -> Object:
    if endpoint.socket is not None:
        return {"type": "unix", "path": str(endpoint.socket)}
    host = endpoint.hosts[0]
    return {"type": "inet", "host": host.host, "port": str(host.port)}


def _iscsi(endpoint: Network) -> Object:
    options: Object = {
        "driver": "iscsi",
        "transport": "tcp",
        "portal": _portal(endpoint.hosts[0]),
        "target": endpoint.name,
        "lun": endpoint.lun,
    }
    if endpoint.initiator:
        options["initiator-name"] = endpoint.initiator
    if endpoint.credentials is not None:
        options |= {"user": endpoint.credentials.user, "password-secret": _SECRET}
    return options


def _rbd(endpoint: Network) -> Object:
    pool, *middle, name = endpoint.name.split("/")
    servers = [{"host": host.host, "port": str(host.port)} for host in endpoint.hosts]
    options: Object = {"driver": "rbd", "pool": pool, "image": name, "server": servers}
    if middle:
        options["namespace"] = middle[0]
    if endpoint.credentials is not None:
        options |= {
            "user": endpoint.credentials.user,
            "key-secret": _SECRET,
            "auth-client-required": ["cephx"],
        }
    return options


def _portal(host: HostPort) -> str:
    return f"[{host.host}]:{host.port}" if ":" in host.host else f"{host.host}:{host.port}"
