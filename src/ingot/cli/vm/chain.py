"""The chain of a disk as a small tree: the device that the guest sees, the copy below it, and the source at the end."""

from collections.abc import Callable
from typing import Any

from ingot.api.object import Object
from ingot.disks.access import wanted
from ingot.disks.target import bus_of, device_names, kind_of

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def trees(spec: Object, statuses: list[Object]) -> list[str]:
    """The lines of all disks of a guest, in its order. `statuses` is its volumeStatus, empty when it does not run."""
    disks = spec["domain"].get("devices", {}).get("disks") or []
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or []}
    known = {status["name"]: status for status in statuses}
    names = device_names(disks)
    rows: list[str] = []
    for disk in disks:
        name = disk["name"]
        rows += tree(disk, volumes.get(name), known.get(name, {}), names.get(name, ""))
    return rows


def tree(disk: Object, volume: Object | None, status: Object, device: str) -> list[str]:
    """One disk's lines."""
    kind, bus = kind_of(disk), bus_of(disk)
    device = status.get("target") or device
    if volume is None:
        return [f"{disk['name']}  {device}  {bus} {kind}, empty"]
    rows = [f"{disk['name']}  {device}  {bus} {kind}, {wanted(volume, disk)}{_trouble(status)}"]
    links = [link for link in (_copy(volume, status), _source(volume, status)) if link]
    return [*rows, *(f"{'   ' * depth}└─ {link}" for depth, link in enumerate(links))]


def _trouble(status: Object) -> str:
    said = ": ".join(str(status[key]) for key in ("reason", "message") if status.get(key))
    return f"  ({said})" if said else ""


def _copy(volume: Object, status: Object) -> str:
    copy = volume.get("copy") or {}
    mode = "copy-on-write" if "ephemeral" in volume else copy.get("mode", "none")
    if mode == "none":
        return ""
    usage = copy.get("usageType", "default")
    progress = f"  {status['progress']}" if status.get("progress") else ""
    head = "clone (" if mode == "clone" else f"overlay ({mode}, "
    return f"{head}usage {usage}){progress}"


def _source(volume: Object, status: Object) -> str:
    for word, describe in _SOURCES.items():
        if word in volume:
            size = f", {size_text(status['size'])}" if status.get("size") else ""
            return f"{describe(volume[word])}{size}"
    return next((key for key in volume if key not in ("name", "accessMode", "copy", "driver")), "?")


def size_text(count: int) -> str:
    """2147483648 is 2 GiB."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def _at(scheme: str, hosts: str, name: str, source: Object) -> str:
    return f"{scheme}://{hosts}/{name}  {source.get('format', 'raw')}"


def _nbd(source: Object) -> str:
    scheme = "nbds" if source.get("tls") else "nbd"
    return _at(scheme, f"{source['host']}:{source.get('port', 10809)}", source.get("export", ""), source)


def _iscsi(source: Object) -> str:
    return _at("iscsi", source["targetPortal"], f"{source['iqn']}/{source.get('lun', 0)}", source)


def _rbd(source: Object) -> str:
    return _at("rbd", ",".join(source["monitors"]), f"{source.get('pool', 'rbd')}/{source['image']}", source)


def _gluster(source: Object) -> str:
    name = f"{source['volume']}/{source['path'].lstrip('/')}"
    return _at("gluster", f"{source['host']}:{source.get('port', 24007)}", name, source)


_SOURCES: dict[str, Callable[[Any], str]] = {
    "networkVolume": lambda source: f"{source['uri']}  {source['format']}",
    "nbd": _nbd,
    "iscsi": _iscsi,
    "rbd": _rbd,
    "gluster": _gluster,
    "http": lambda source: f"{source['url']}  {source.get('format', 'raw')}",
    "hostDisk": lambda source: f"file {source['path']}",
    "persistentVolumeClaim": lambda source: f"claim {source['claimName']}",
    "ephemeral": lambda source: f"claim {(source.get('persistentVolumeClaim') or {}).get('claimName', '?')}",
    "dataVolume": lambda source: f"DataVolume {source['name']}",
    "containerDisk": lambda source: f"image {source['image']}",
    "emptyDisk": lambda source: f"new empty disk, {source['capacity']}",
    "cloudInitNoCloud": lambda _: "cloud-init data (NoCloud)",
    "cloudInitConfigDrive": lambda _: "cloud-init data (config drive)",
    "configMap": lambda source: f"files of ConfigMap {source.get('name', '?')}",
    "secret": lambda source: f"files of Secret {source.get('secretName', '?')}",
    "serviceAccount": lambda source: f"token of ServiceAccount {source.get('serviceAccountName', '?')}",
    "container": lambda source: f"made by a container of {source['image']}",
}
