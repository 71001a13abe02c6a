"""A new machine from what was said on a command line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingot.api.object import Object
from ingot.cli.vm.image import Image

# What comes after the first disk is named by its place.
ROOT, SEED = "root", "seed"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """`images`: the disks, in boot order. `user_data` is for cloud-init, "" for none."""

    name: str
    namespace: str
    images: Sequence[Image]
    cpus: int
    memory: str
    user_data: str = ""

    def manifest(self) -> Object:
        """The VirtualMachine, which runs from the moment that it is there."""
        disks, volumes, templates = [], [], []
        for order, image in enumerate(self.images, 1):
            name = ROOT if order == 1 else f"disk{order}"
            if image.golden:
                own = f"{self.name}-{name}"
                templates.append(image.golden.template(own))
                image = replace(image, source={"dataVolume": {"name": own}})
            disks.append(image.disk(name, order))
            volumes.append(image.volume(name))
        if self.user_data:
            disks.append({"name": SEED, "disk": {"bus": "virtio"}})
            volumes.append({"name": SEED, "cloudInitNoCloud": {"userData": self.user_data}})
        domain = {"cpu": {"cores": self.cpus}, "memory": {"guest": self.memory}, "devices": {"disks": disks}}
        spec: Object = {"runStrategy": "Always", "template": {"spec": {"domain": domain, "volumes": volumes}}}
        if templates:
            spec["dataVolumeTemplates"] = templates
        return {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }


def name_from(title: str) -> str:
    """A name for a machine from that of its disk: `Debian 12.raw` is debian-12."""
    stem = title.lower().rsplit(".", 1)[0] if "." in title else title.lower()
    return re.sub(r"[^a-z0-9]+", "-", stem).strip("-")[:50].strip("-") or "vm"
