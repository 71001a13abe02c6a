"""Disks for cloud-init: NoCloud and the config drive."""

import base64
import binascii
import json
import uuid

from ingot.api.object import Object, name_of, namespace_of
from ingot.disks.made.objects import Reader
from ingot.disks.source.refusal import final, refusal

_NO_CLOUD = "cloudInitNoCloud"
_CONFIG_DRIVE = "cloudInitConfigDrive"
_MOST_HOSTNAME = 63


async def no_cloud(volume: Object, vmi: Object, reader: Reader) -> dict[str, bytes]:
    """The files of a NoCloud disk. Raises DiskFault."""
    source = volume[_NO_CLOUD]
    about: Object = {"instance-id": _instance_id(vmi), "local-hostname": _hostname(vmi)}
    if keys := await _public_keys(vmi, "noCloud", reader):
        about["public-keys"] = keys
    files = {
        "meta-data": _json(about),
        "user-data": await _data(source, _NO_CLOUD, "userData", "secretRef", "userdata", reader) or b"",
    }
    network = await _data(source, _NO_CLOUD, "networkData", "networkDataSecretRef", "networkdata", reader)
    return files if network is None else {**files, "network-config": network}


async def config_drive(volume: Object, vmi: Object, reader: Reader) -> dict[str, bytes]:
    """The files of a config drive. Raises DiskFault."""
    source = volume[_CONFIG_DRIVE]
    identity, hostname = _instance_id(vmi), _hostname(vmi)
    about: Object = {"uuid": identity, "instance_id": identity, "hostname": hostname, "name": name_of(vmi)}
    if keys := await _public_keys(vmi, "configDrive", reader):
        about["public_keys"] = {str(number): key for number, key in enumerate(keys)}
    files = {"openstack/latest/meta_data.json": _json(about)}
    user = await _data(source, _CONFIG_DRIVE, "userData", "secretRef", "userdata", reader)
    if user is not None:
        files["openstack/latest/user_data"] = user
    network = await _data(source, _CONFIG_DRIVE, "networkData", "networkDataSecretRef", "networkdata", reader)
    if network is not None:
        files["openstack/latest/network_data.json"] = network
    return files


async def _data(source: Object, kind: str, inline: str, reference: str, key: str, reader: Reader) -> bytes | None:
    """Data that is inline, in base64 or under `key` of a Secret; None when it is not given at all."""
    encoded = f"{inline}Base64"
    if inline in source:
        return str(source[inline]).encode()
    if encoded in source:
        try:
            return base64.b64decode("".join(source[encoded].split()), validate=True)
        except binascii.Error:
            raise final(reader.volume, "DataInvalid", f"{kind}.{encoded} is not base64") from None
    if reference not in source:
        return None
    name = source[reference]["name"]
    keys = await reader.secret(name, f"{kind}.{reference}")
    # KubeVirt takes both spellings.
    for spelling in (key, inline):
        if spelling in keys:
            return keys[spelling]
    what = f"Secret {name!r} ({kind}.{reference}) has no key {key!r}: add it"
    raise refusal(reader.volume, "SecretInvalid", what)


async def _public_keys(vmi: Object, method: str, reader: Reader) -> list[str]:
    """The SSH keys of the machine's access credentials that are to come by this kind of disk."""
    found = []
    for index, credential in enumerate(vmi["spec"].get("accessCredentials") or ()):
        public = credential.get("sshPublicKey") or {}
        name = ((public.get("source") or {}).get("secret") or {}).get("secretName")
        if name and method in (public.get("propagationMethod") or {}):
            keys = await reader.secret(name, f"accessCredentials[{index}].sshPublicKey")
            lines = [line.strip() for _, value in sorted(keys.items()) for line in value.decode().splitlines()]
            found += [line for line in lines if line and not line.startswith("#")]
    return found


def _instance_id(vmi: Object) -> str:
    """Who the guest is to cloud-init: the same over restarts, so that a first boot happens once."""
    firmware = vmi["spec"]["domain"].get("firmware") or {}
    return str(firmware.get("uuid") or uuid.uuid5(uuid.NAMESPACE_URL, f"{namespace_of(vmi)}/{name_of(vmi)}"))


def _hostname(vmi: Object) -> str:
    told = vmi["spec"].get("hostname") or name_of(vmi).partition(".")[0]
    return str(told)[:_MOST_HOSTNAME].rstrip("-")


def _json(value: Object) -> bytes:
    """JSON, which is YAML too."""
    return json.dumps(value, sort_keys=True).encode()
