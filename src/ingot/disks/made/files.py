"""Disks that show the files which a pod would have as a volume."""

import json
import re

from ingot.api.object import Object, namespace_of
from ingot.api.resources import SERVICE_ACCOUNTS
from ingot.api.status import ApiError
from ingot.disks.made.objects import Reader
from ingot.disks.source.refusal import final, refusal

# The ConfigMap that Kubernetes keeps in every namespace.
_AUTHORITY = "kube-root-ca.crt"
_ANSWER_FILES = ("autounattend.xml", "unattend.xml")
_TOKEN_SECONDS = 365 * 24 * 3600
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


async def config_map(volume: Object, _vmi: Object, reader: Reader) -> dict[str, bytes]:
    source = volume["configMap"]
    return await reader.config_map(source["name"], "configMap.name", bool(source.get("optional")))


async def secret(volume: Object, _vmi: Object, reader: Reader) -> dict[str, bytes]:
    source = volume["secret"]
    return await reader.secret(source["secretName"], "secret.secretName", bool(source.get("optional")))


async def sysprep(volume: Object, _vmi: Object, reader: Reader) -> dict[str, bytes]:
    """A Windows answer file, and all that is beside it. Raises DiskFault when there is none."""
    source = volume["sysprep"]
    if "secret" in source:
        name, kind = source["secret"]["name"], "Secret"
        files = await reader.secret(name, "sysprep.secret.name")
    else:
        name, kind = source["configMap"]["name"], "ConfigMap"
        files = await reader.config_map(name, "sysprep.configMap.name")
    if not any(key.lower() in _ANSWER_FILES for key in files):
        what = f"{kind} {name!r} (sysprep) has no answer file: it needs a key {' or '.join(_ANSWER_FILES)}"
        raise refusal(reader.volume, "DataInvalid", what)
    return files


async def service_account(volume: Object, vmi: Object, reader: Reader) -> dict[str, bytes]:
    """A token of the ServiceAccount, as a pod has it, with the namespace and the API server's authority."""
    name = volume["serviceAccount"]["serviceAccountName"]
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "metadata": {"namespace": namespace_of(vmi)},
        "spec": {"audiences": [], "expirationSeconds": _TOKEN_SECONDS},
    }
    try:
        made = await reader.client.create(SERVICE_ACCOUNTS, request, name=name, subresource="token")
    except ApiError as error:
        if error.code != 404:
            raise
        what = f"ServiceAccount {name!r} does not exist in namespace {namespace_of(vmi)!r}: create it"
        raise refusal(reader.volume, "ServiceAccountNotFound", what) from None
    files = {"token": made["status"]["token"].encode(), "namespace": namespace_of(vmi).encode()}
    return files | await reader.config_map(_AUTHORITY, "the cluster's authority", optional=True)


async def downward_api(volume: Object, vmi: Object, reader: Reader) -> dict[str, bytes]:
    """Fields of the machine's own object. Raises DiskFault for those that nobody can tell."""
    files = {}
    for index, item in enumerate(volume["downwardAPI"].get("fields") or ()):
        path = (item.get("fieldRef") or {}).get("fieldPath")
        files[_safe(item["path"], reader.volume)] = _field(vmi, path, index, reader.volume).encode()
    return files


def _field(vmi: Object, path: str | None, index: int, volume: str) -> str:
    metadata = vmi["metadata"]
    if path in ("metadata.name", "metadata.namespace", "metadata.uid"):
        return str(metadata[path.removeprefix("metadata.")])
    if path in ("metadata.labels", "metadata.annotations"):
        entries = metadata.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in sorted(entries.items()))
    if path and (entry := _ENTRY.fullmatch(path)):
        return str((metadata.get(entry[1]) or {}).get(entry[2], ""))
    what = f"downwardAPI.fields[{index}]: it must have a fieldRef of name, namespace, uid, labels or annotations"
    raise final(volume, "DataInvalid", what)


def _safe(path: str, volume: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise final(volume, "DataInvalid", f"downwardAPI: path {path!r} must stay on the disk")
    return path
