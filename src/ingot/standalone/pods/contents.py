"""Volumes that are made of objects: ConfigMaps, Secrets, tokens and what a pod may know of itself."""

import contextlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ingot.api.object import Object
from ingot.api.resource import Resource
from ingot.api.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from ingot.api.status import ApiError
from ingot.kube.client import Client
from ingot.standalone.pods.downward import field, resource_field
from ingot.standalone.pods.environment import content
from ingot.standalone.pods.fault import PodFault
from ingot.standalone.pods.user import User

# A token is renewed when this much of its life is over, as the kubelet does.
_RENEW_AT = 0.8


@dataclass(frozen=True, slots=True)
class File:
    content: bytes
    mode: int


Files = dict[str, File]


def write(directory: Path, files: Mapping[str, File], user: User) -> None:
    """Puts the files into the directory, each whole or not at all, readable by the user alone. Raises PodFault.

    The user may change what is below the directory, and do so meanwhile: no link is followed there.
    """
    directory.mkdir(mode=0o700, exist_ok=True)
    user.own(directory)
    for name, file in files.items():
        *parents, last = Path(name).parts
        try:
            with contextlib.ExitStack() as stack:
                place = _opened(stack, str(directory), None)
                for parent in parents:
                    place = _made(stack, parent, place, user)
                _write(place, last, file, user)
        except OSError as error:
            # Nothing but the user's own doing, or a full disk, stands in the way.
            raise PodFault("FailedMount", f"file {name!r} cannot be put there: {error}; tried again") from error


def _opened(stack: contextlib.ExitStack, name: str, above: int | None) -> int:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    stack.callback(os.close, descriptor)
    return descriptor


def _made(stack: contextlib.ExitStack, name: str, above: int, user: User) -> int:
    """The directory of that name in an open one, made if need be, and the user's."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=above)
    descriptor = _opened(stack, name, above)
    user.own_open(descriptor)
    return descriptor


def _write(place: int, name: str, file: File, user: User) -> None:
    scratch = f".{name}.{secrets.token_hex(4)}"
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.content)
        # Nobody but the user may enter the directory; still nobody else is allowed anything.
        os.fchmod(descriptor, file.mode & 0o700)
        user.own_open(descriptor)
    os.replace(scratch, name, src_dir_fd=place, dst_dir_fd=place)


async def files_of(client: Client, pod: Object, volume: Object) -> tuple[Files, float]:
    """What is in a configMap, secret, downwardAPI or projected volume, and when to look again (0: never)."""
    if "configMap" in volume:
        return await _object(client, pod, CONFIG_MAPS, volume["configMap"], volume["configMap"], "name"), 0.0
    if "secret" in volume:
        return await _object(client, pod, SECRETS, volume["secret"], volume["secret"], "secretName"), 0.0
    if "downwardAPI" in volume:
        return _downward(pod, volume["downwardAPI"], volume["downwardAPI"]), 0.0
    return await _projected(client, pod, volume["projected"])


async def _projected(client: Client, pod: Object, projected: Object) -> tuple[Files, float]:
    files: Files = {}
    renewal = 0.0
    for source in projected.get("sources") or ():
        if "configMap" in source:
            files |= await _object(client, pod, CONFIG_MAPS, source["configMap"], projected, "name")
        elif "secret" in source:
            files |= await _object(client, pod, SECRETS, source["secret"], projected, "name")
        elif "downwardAPI" in source:
            files |= _downward(pod, source["downwardAPI"], projected)
        elif "serviceAccountToken" in source:
            wanted = source["serviceAccountToken"]
            token, seconds = await _token(client, pod, wanted)
            files[_inside(wanted["path"])] = File(token.encode(), _mode({}, projected))
            renewal = min(renewal or seconds, seconds)
        else:
            why = f"projected: {', '.join(source)} is none of configMap, secret, downwardAPI, serviceAccountToken"
            raise PodFault("FailedMount", why, final=True)
    return files, renewal


async def _object(client: Client, pod: Object, resource: Resource, source: Object, modes: Object, key: str) -> Files:
    found = await content(client, resource, pod, source[key], bool(source.get("optional", False)))
    if found is None:
        return {}
    items = source.get("items")
    if not items:
        return {name: File(value, _mode({}, modes)) for name, value in found.items()}
    files = {}
    for item in items:
        if item["key"] not in found:
            if source.get("optional"):
                continue
            raise PodFault("FailedMount", f"{resource.kind} {source[key]!r} has no key {item['key']!r}; add it")
        files[_inside(item["path"])] = File(found[item["key"]], _mode(item, modes))
    return files


def _downward(pod: Object, source: Object, modes: Object) -> Files:
    files = {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            text = field(pod, item["fieldRef"]["fieldPath"])
        else:
            text = resource_field(pod, {}, item["resourceFieldRef"])
        files[_inside(item["path"])] = File(text.encode(), _mode(item, modes))
    return files


async def _token(client: Client, pod: Object, wanted: Object) -> tuple[str, float]:
    """A token that is good for this pod only, and in how many seconds to get the next."""
    metadata = pod["metadata"]
    account = pod["spec"].get("serviceAccountName") or "default"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": metadata["namespace"]},
        "spec": {
            "audiences": [wanted["audience"]] if wanted.get("audience") else [],
            "expirationSeconds": wanted.get("expirationSeconds", 3600),
            "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]},
        },
    }
    try:
        answer = await client.create(SERVICE_ACCOUNTS, request, name=account, subresource="token")
    except ApiError as error:
        why = f"no token for service account {metadata['namespace']}/{account}: {error}"
        raise PodFault("FailedMount", why) from error
    return answer["status"]["token"], wanted.get("expirationSeconds", 3600) * _RENEW_AT


def _inside(path: str) -> str:
    if path.startswith("/") or ".." in Path(path).parts:
        raise PodFault("FailedMount", f"path {path!r} leads out of the volume; give one below it", final=True)
    return path


def _mode(item: Object, source: Object) -> int:
    return int(item.get("mode") or source.get("defaultMode") or 0o644)
