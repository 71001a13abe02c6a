"""Every YAML example of the seeds as a whole object: what is printed, repaired where it is not YAML, and put into an
object where it is a part of one only.

The examples are in seeds/*.yaml, letter by letter; here is how each becomes an object that can be sent to a server.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from ingot.api.object import Object

SEEDS = Path(__file__).parent / "seeds"
V1, ALPHA = "kubevirt.io/v1", "kubevirt.io/v1alpha1"


def printed(name: str) -> str:
    """An example, letter by letter."""
    return (SEEDS / f"{name}.yaml").read_text()


def parsed(name: str) -> Any:
    """An example that is YAML as printed."""
    return yaml.safe_load(printed(name))


def examples() -> dict[str, Object]:
    """Name of the example → a new object of it, without a namespace unless the example has one."""
    wholes = (
        "003-3-datasource-of-ssp",
        "003-5-datavolume",
        "003-6-dataimportcron",
        "003-7-datasource",
        "003-8-ssp",
        "003-9-hyperconverged",
    )
    answers = ("001-4-answer-claim", "001-5-answer-iscsi")
    templates = ("003-1-vm-template-before", "003-2-vm-template-after")
    # Two documents, each a part of the list of disks.
    drivers = list(yaml.safe_load_all(printed("002-2-driver")))
    return {
        "000-1-network-volume": _network_volume(),
        "001-1-iscsi": _old_machine(_with_spaces("001-1-iscsi")["disks"]),
        "001-2-claim": _old_machine(_with_spaces("001-2-claim")["disks"]),
        "001-3-container": _old_machine(_container()["disks"]),
        # An answer is the source of a disk.
        **{name: _old_machine([{"source": parsed(name)}]) for name in answers},
        "001-6-usage-types": _usage_types(),
        "001-7-access-and-copy": _old_machine(_with_spaces("001-7-access-and-copy")["disks"]),
        # It has no apiVersion and no name.
        "002-1-vm": {**_old_machine([]), **parsed("002-1-vm")},
        "002-2-driver-qemu": _old_machine(drivers[0]),
        "002-2-driver-kubelet": _old_machine(drivers[1]),
        **{name: _machine(parsed(name)) for name in templates},
        "003-4-owner-references": _owned(),
        **{name: parsed(name) for name in wholes},
        "004-1-registry-disk": _registry_disk(),
    }


def _made(kind: str, spec: Object, api_version: str) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, "spec": spec}


def _old_machine(disks: list[Object]) -> Object:
    devices = {"disks": disks, "autoattachPodInterface": False}
    return _made("VM", {"domain": {"devices": devices}}, ALPHA)


def _machine(part: Object) -> Object:
    """A VirtualMachine with a part of its spec, which brings the volume "fedora"."""
    volume = {"name": "root", "dataVolume": {"name": "fedora"}}
    disk = {"name": "root", "disk": {"bus": "virtio"}}
    inner = {"domain": {"devices": {"disks": [disk]}}, "volumes": [volume]}
    return _made("VirtualMachine", {"runStrategy": "Halted", "template": {"spec": inner}, **part}, V1)


def _with_spaces(name: str) -> Any:
    """The repair of seed 001: its tabs stand for columns of eight, and YAML has no tabs."""
    return yaml.safe_load(printed(name).expandtabs(8))


def _container() -> Any:
    # Beside the tabs: the line of dots stands for any attribute of a container, so it becomes one.
    text = printed("001-3-container").replace("... any other k8s container attribute...", "workingDir: /data")
    return yaml.safe_load(text.expandtabs(8))


def _network_volume() -> Object:
    # A part of the list of volumes.
    disks = [{"name": "networkdisk", "cdrom": {"bus": "sata"}}]
    spec = {"domain": {"devices": {"disks": disks}}, "volumes": parsed("000-1-network-volume")}
    return _made("VirtualMachineInstance", spec, V1)


def _usage_types() -> Object:
    # Parts of a pod: of its metadata, and of its container.
    part = parsed("001-6-usage-types")
    container = {"name": "main", "image": "registry.test/app:1", "volumeMounts": part["volumeMounts"]}
    volumes = [{"name": mount["name"], "hostPath": {"path": mount["mountPath"]}} for mount in part["volumeMounts"]]
    pod = _made("Pod", {"automountServiceAccountToken": False, "containers": [container], "volumes": volumes}, "v1")
    pod["metadata"]["annotations"] = part["annotations"]
    return pod


def _owned() -> Object:
    # A part of the metadata of the DataSource of the example before.
    source: Object = parsed("003-3-datasource-of-ssp")
    source["metadata"] |= parsed("003-4-owner-references")
    return source


def _registry_disk() -> Object:
    # The dashes before source and target make a list where an object is meant; without them it is one. It has no
    # apiVersion and no name either.
    text = re.sub(r"- (source|target):", r"\1:", printed("004-1-registry-disk"))
    return {"apiVersion": ALPHA, "metadata": {"name": "it"}, **yaml.safe_load(text)}
