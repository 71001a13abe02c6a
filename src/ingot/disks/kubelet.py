"""Where the kubelet puts a pod's volumes on the node (F3).

A filesystem is mounted at `pods/<pod uid>/volumes/<plugin>/<volume>`, a block device is a link at
`pods/<pod uid>/volumeDevices/<plugin>/<volume>`. `<volume>` is the PersistentVolume's name and `<plugin>` the plugin's,
with `~` for `/`. Two plugins differ: CSI mounts at `mount` below that directory, and a host path is not mounted at all.
"""

from pathlib import Path

from ingot.api.object import Object, name_of

ROOT = Path("/var/lib/kubelet")

_PLUGINS = {
    "cephfs": "kubernetes.io/cephfs",
    "csi": "kubernetes.io/csi",
    "fc": "kubernetes.io/fc",
    "flocker": "kubernetes.io/flocker",
    "glusterfs": "kubernetes.io/glusterfs",
    "iscsi": "kubernetes.io/iscsi",
    "local": "kubernetes.io/local-volume",
    "nfs": "kubernetes.io/nfs",
    "quobyte": "kubernetes.io/quobyte",
    "rbd": "kubernetes.io/rbd",
    "scaleIO": "kubernetes.io/scaleio",
    "storageos": "kubernetes.io/storageos",
}
# The kubelet hands these to CSI drivers, under the same PersistentVolume's name.
_MIGRATED = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cinder",
    "gcePersistentDisk",
    "portworxVolume",
    "vsphereVolume",
)


class UnknownPlugin(ValueError):
    """A PersistentVolume `name` with a source that no kubelet we know of has a plugin for."""

    def __init__(self, name: str) -> None:
        known = ", ".join(sorted((*_PLUGINS, *_MIGRATED, "flexVolume", "hostPath")))
        super().__init__(f"PersistentVolume {name!r} has no source that the kubelet can mount: it knows {known}")
        self.name = name


def is_block(pv: Object) -> bool:
    """Whether the volume is a device rather than a filesystem (F2)."""
    return bool(pv["spec"].get("volumeMode") == "Block")


def volume_path(root: Path, pod_uid: str, pv: Object) -> Path:
    """The path of a PersistentVolume in the kubelet directory `root`: a directory, or a link to a block device.

    Raises UnknownPlugin.
    """
    if "hostPath" in pv["spec"]:
        return Path(pv["spec"]["hostPath"]["path"])
    plugin = _plugin(pv)
    pod = root / "pods" / pod_uid
    escaped = plugin.replace("/", "~")
    if is_block(pv):
        return pod / "volumeDevices" / escaped / name_of(pv)
    path = pod / "volumes" / escaped / name_of(pv)
    return path / "mount" if plugin == _PLUGINS["csi"] else path


def _plugin(pv: Object) -> str:
    spec = pv["spec"]
    if "flexVolume" in spec:
        return str(spec["flexVolume"]["driver"])
    if any(source in spec for source in _MIGRATED):
        return _PLUGINS["csi"]
    for source, plugin in _PLUGINS.items():
        if source in spec:
            return plugin
    raise UnknownPlugin(name_of(pv))
