"""The volumes of a pod, and how its containers use them."""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import meta, names
from ingot.standalone.builtin.kinds import claim, sources

# The first of them counts where there are several: the order is that of Kubernetes.
KINDS = (
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
)
_PROPAGATION = ("Bidirectional", "HostToContainer", "None")
_CONFLICT = "conflicting duplicate paths"
_LONGEST_TOKEN = 2**32
_SHORTEST_TOKEN = 600


def validate(spec: Object, pod_name: str) -> tuple[dict[str, Object], list[Cause]]:
    """The volumes that are well, by name, and what is wrong with the others."""
    well: dict[str, Object] = {}
    causes = []
    volumes = spec.get("volumes") or ()
    made = {f"{pod_name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume}
    for index, volume in enumerate(volumes):
        path, name = f"spec.volumes[{index}]", volume.get("name", "")
        found = _volume(path, volume, pod_name) + fields.named(f"{path}.name", name, names.label)
        if name in well:
            found.append(fields.duplicate(f"{path}.name", name))
        if not found:
            well[name] = volume
        causes += found
        claimed = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claimed and claimed in made:
            why = "must not reference a PVC that gets created for an ephemeral volume"
            causes.append(fields.invalid(f"{path}.persistentVolumeClaim.claimName", claimed, why))
    return well, causes


def _volume(path: str, volume: Object, pod_name: str) -> list[Cause]:
    given = [kind for kind in KINDS if kind in volume]
    if not given:
        return [fields.required(path, "must specify a volume type")]
    kind = given[0]
    if kind == "projected":
        causes = _projected(f"{path}.projected", volume[kind])
    elif kind == "downwardAPI":
        causes = _downward(f"{path}.downwardAPI", volume[kind])
    elif kind == "ephemeral":
        causes = _ephemeral(path, volume, pod_name)
    else:
        causes = sources.validate(path, kind, volume[kind])
    return causes + [fields.forbidden(f"{path}.{other}", sources.MORE_THAN_ONE) for other in given[1:]]


def _ephemeral(path: str, volume: Object, pod_name: str) -> list[Cause]:
    template = volume["ephemeral"].get("volumeClaimTemplate")
    field = f"{path}.ephemeral.volumeClaimTemplate"
    if template is None:
        return [fields.required(field)]
    metadata = template["metadata"]
    causes = meta.annotation_causes(f"{field}.metadata.annotations", metadata.get("annotations") or {})
    causes += meta.label_causes(f"{field}.metadata.labels", metadata.get("labels") or {})
    causes += claim.validate_spec(f"{field}.spec", template["spec"])
    name = f"{pod_name}-{volume.get('name', '')}"
    for fault in names.subdomain(name):
        causes.append(fields.invalid(f"{path}.name", volume.get("name", ""), f'PVC name "{name}": {fault}'))
    return causes


def _downward(field: str, source: Object) -> list[Cause]:
    causes = sources.mode(field, source, "defaultMode")
    for item in source.get("items") or ():
        causes += _downward_file(field, item)
    return causes


def _downward_file(field: str, item: Object) -> list[Cause]:
    causes = fields.missing(field, item, "path") + sources.file_path(f"{field}.path", item.get("path", ""))
    if "fieldRef" in item and "resourceFieldRef" in item:
        why = "fieldRef and resourceFieldRef can not be specified simultaneously"
        causes.append(fields.invalid(field, "resource", why))
    elif "fieldRef" not in item and "resourceFieldRef" not in item:
        causes.append(fields.required(field, "one of fieldRef and resourceFieldRef is required"))
    return causes + sources.mode(field, item, "mode")


def _projected(field: str, source: Object) -> list[Cause]:
    causes = sources.mode(field, source, "defaultMode")
    paths: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        path = f"{field}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if kind in projection:
                causes += fields.missing(f"{path}.{kind}", projection[kind], "name")
                items = projection[kind].get("items") or []
                causes += sources.key_paths(f"{path}.{kind}.items", items)
                causes += _conflicts(field, items, paths, projection[kind].get("name", ""))
        if "downwardAPI" in projection:
            for item in projection["downwardAPI"].get("items") or ():
                causes += _downward_file(f"{path}.downwardAPI", item)
                causes += _conflicts(field, [item], paths, item.get("path", ""))
        if "serviceAccountToken" in projection:
            causes += _token(field, path, projection["serviceAccountToken"])
        if len(projection) > 1:
            causes.append(fields.forbidden(path, f"{sources.MORE_THAN_ONE} per source"))
    return causes


def _conflicts(field: str, items: list[Object], paths: set[str], shown: str) -> list[Cause]:
    causes = []
    for path in (item["path"] for item in items if item.get("path")):
        if path in paths:
            causes.append(fields.invalid(field, shown, _CONFLICT))
        paths.add(path)
    return causes


def _token(field: str, path: str, token: Object) -> list[Cause]:
    causes = []
    seconds = token["expirationSeconds"]
    if not _SHORTEST_TOKEN <= seconds <= _LONGEST_TOKEN:
        small = seconds < _SHORTEST_TOKEN
        why = f"may not specify a duration {'less than 10 minutes' if small else 'larger than 2^32 seconds'}"
        causes.append(fields.invalid(f"{path}.serviceAccountToken.expirationSeconds", seconds, why))
    return causes + fields.missing(field, token, "path") + sources.file_path(f"{field}.path", token.get("path", ""))


def mounts(field: str, container: Object, volumes: dict[str, Object]) -> list[Cause]:
    """What is wrong with a container's volumeMounts."""
    devices = {device.get("name"): device.get("devicePath") for device in container.get("volumeDevices") or ()}
    causes = []
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        path, name, point = f"{field}[{index}]", mount.get("name", ""), mount.get("mountPath", "")
        causes += [] if name else [fields.required(f"{path}.name")]
        causes += [] if name in volumes else [fields.not_found(f"{path}.name", name)]
        causes += [] if point else [fields.required(f"{path}.mountPath")]
        if point in seen:
            causes.append(fields.invalid(f"{path}.mountPath", point, "must be unique"))
        seen.add(point)
        if name in devices:
            causes.append(fields.invalid(f"{path}.name", name, "must not already exist in volumeDevices"))
        if point in devices.values():
            why = "must not already exist as a path in volumeDevices"
            causes.append(fields.invalid(f"{path}.mountPath", point, why))
        causes += _sub_paths(field, path, mount) + _propagation(field, mount, container)
    return causes


def _sub_paths(field: str, path: str, mount: Object) -> list[Cause]:
    causes = []
    for key in ("subPath", "subPathExpr"):
        if key in mount:
            causes += sources.local_path(f"{field}.{key}", mount[key])
    if "subPath" in mount and "subPathExpr" in mount:
        why = "subPathExpr and subPath are mutually exclusive"
        causes.insert(0, fields.invalid(f"{path}.subPathExpr", mount["subPathExpr"], why))
    return causes


def _propagation(field: str, mount: Object, container: Object) -> list[Cause]:
    mode = mount.get("mountPropagation")
    if mode is None:
        return []
    if mode not in _PROPAGATION:
        return [fields.not_supported(f"{field}.mountPropagation", mode, _PROPAGATION)]
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mode == "Bidirectional" and not privileged:
        why = "Bidirectional mount propagation is available only to privileged containers"
        return [fields.forbidden(f"{field}.mountPropagation", why)]
    return []


def devices(field: str, container: Object, volumes: dict[str, Object]) -> list[Cause]:
    """What is wrong with a container's volumeDevices."""
    mounted = {mount.get("name"): mount.get("mountPath") for mount in container.get("volumeMounts") or ()}
    causes = []
    seen: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        path, name, point = f"{field}[{index}]", device.get("name", ""), device.get("devicePath", "")
        causes += [] if name else [fields.required(f"{path}.name")]
        volume = volumes.get(name)
        if volume is None:
            causes.append(fields.not_found(f"{path}.name", name))
        elif not {"persistentVolumeClaim", "ephemeral"} & volume.keys():
            why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            causes.append(fields.invalid(f"{path}.name", name, why))
        causes += [] if point else [fields.required(f"{path}.devicePath")]
        if ".." in point.split("/"):
            causes.append(fields.invalid(f"{path}.devicePath", point, "can not contain backsteps ('..')"))
        for value, key in ((name, "name"), (point, "devicePath")):
            if value and value in seen:
                causes.append(fields.invalid(f"{path}.{key}", value, "must be unique"))
        if name in mounted:
            causes.append(fields.invalid(f"{path}.name", name, "must not already exist in volumeMounts"))
        if point in mounted.values():
            why = "must not already exist as a path in volumeMounts"
            causes.append(fields.invalid(f"{path}.devicePath", point, why))
        seen |= {name, point}
    return causes
