"""Where a volume comes from: the sources that pods name in place and those that PersistentVolumes hold."""

from collections.abc import Callable

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.csi import driver_name
from ingot.standalone.schema.patterns import pattern

MODE = "must be a number between 0 and 0777 (octal), both inclusive"
MORE_THAN_ONE = "may not specify more than 1 volume type"
_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_TARGETS = {
    "iqn": r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$",
    "eui": "^eui.[A-Za-z0-9]{16}$",
    "naa": "^naa.[A-Za-z0-9]{32}$",
}
# Sources of which only presence of fields is asked.
_REQUIRED = {
    "awsElasticBlockStore": "volumeID",
    "azureDisk": "diskName diskURI",
    "azureFile": "secretName shareName",
    "cephfs": "monitors",
    "cinder": "volumeID",
    "flexVolume": "driver",
    "gcePersistentDisk": "pdName",
    "gitRepo": "repository",
    "glusterfs": "endpoints path",
    "persistentVolumeClaim": "claimName",
    "photonPersistentDisk": "pdID",
    "portworxVolume": "volumeID",
    "rbd": "monitors image",
    "scaleIO": "gateway system volumeName",
    "storageos": "volumeName",
    "vsphereVolume": "volumePath",
}


def default(volume: Object) -> None:
    """What a source that says little means, for a pod's volume and for a PersistentVolume's spec."""
    if (source := volume.get("hostPath")) is not None:
        source.setdefault("type", "")
    if (source := volume.get("iscsi")) is not None:
        source.setdefault("iscsiInterface", "default")
    if (source := volume.get("rbd")) is not None:
        source.setdefault("pool", "rbd")
        source.setdefault("user", "admin")
        source.setdefault("keyring", "/etc/ceph/keyring")


def validate(field: str, kind: str, source: Object) -> list[Cause]:
    """What is wrong with one source; `kind` is its key, such as `iscsi`."""
    path = f"{field}.{kind}"
    if rule := _RULES.get(kind):
        return rule(path, source)
    return fields.missing(path, source, _REQUIRED.get(kind, ""))


def no_backsteps(field: str, path: str) -> list[Cause]:
    return [fields.invalid(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def local_path(field: str, path: str) -> list[Cause]:
    """What is wrong with a path that must stay below where it starts."""
    causes = [fields.invalid(field, path, "must be a relative path")] if path.startswith("/") else []
    return causes + no_backsteps(field, path)


def file_path(field: str, path: str) -> list[Cause]:
    """The same, for a file that Kubernetes writes: names that start with two dots are its own."""
    causes = local_path(field, path)
    if path.startswith("..") and not path.startswith("../"):
        causes.append(fields.invalid(field, path, "must not start with '..'"))
    return causes


def mode(field: str, given: Object, key: str) -> list[Cause]:
    value = given.get(key)
    return [] if value is None or 0 <= value <= 0o777 else [fields.invalid(f"{field}.{key}", value, MODE)]


def _host_path(field: str, source: Object) -> list[Cause]:
    path = source.get("path", "")
    if not path:
        return [fields.required(f"{field}.path")]
    causes = no_backsteps(f"{field}.path", path)
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        causes.append(fields.not_supported(f"{field}.type", kind, _HOST_PATH_TYPES))
    return causes


def _local(field: str, source: Object) -> list[Cause]:
    path = source.get("path", "")
    return no_backsteps(f"{field}.path", path) if path else [fields.required(f"{field}.path")]


def _nfs(field: str, source: Object) -> list[Cause]:
    causes = fields.missing(field, source, "server path")
    if not source.get("path", "").startswith("/"):
        causes.append(fields.invalid(f"{field}.path", source.get("path", ""), "must be an absolute path"))
    return causes


def _iscsi(field: str, source: Object) -> list[Cause]:
    causes = fields.missing(field, source, "targetPortal iqn")
    if name := source.get("iqn"):
        causes += _target(f"{field}.iqn", name)
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        causes.append(fields.invalid(f"{field}.lun", lun, names.between(0, 255)))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        causes.append(fields.required(f"{field}.secretRef"))
    if "initiatorName" in source:
        causes += _target(f"{field}.initiatorname", source["initiatorName"])
    return causes


def _target(field: str, name: str) -> list[Cause]:
    expression = _TARGETS.get(name[:3])
    if expression is None:
        return [fields.invalid(field, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if pattern(expression).matches(name) else [fields.invalid(field, name, "must be valid format")]


def _csi(field: str, source: Object) -> list[Cause]:
    causes = driver_name(f"{field}.driver", source.get("driver", ""))
    # A PersistentVolume's source has references to secrets in other namespaces, a pod's has one in its own.
    if "volumeHandle" in source:
        causes += fields.missing(field, source, "volumeHandle")
    return causes


def _empty_dir(field: str, source: Object) -> list[Cause]:
    if str(source.get("sizeLimit", "")).startswith("-"):
        return [fields.forbidden(f"{field}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _keys(name_field: str) -> Callable[[str, Object], list[Cause]]:
    """The rule of a source that shows keys of a Secret or ConfigMap as files."""

    def rule(field: str, source: Object) -> list[Cause]:
        causes = fields.missing(field, source, name_field) + mode(field, source, "defaultMode")
        return causes + key_paths(f"{field}.items", source.get("items") or [])

    return rule


def key_paths(field: str, items: list[Object]) -> list[Cause]:
    causes = []
    for index, item in enumerate(items):
        path = f"{field}[{index}]"
        causes += fields.missing(path, item, "key path")
        causes += file_path(f"{path}.path", item.get("path", "")) + mode(path, item, "mode")
    return causes


_RULES: dict[str, Callable[[str, Object], list[Cause]]] = {
    "configMap": _keys("name"),
    "csi": _csi,
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "iscsi": _iscsi,
    "local": _local,
    "nfs": _nfs,
    "secret": _keys("secretName"),
}
