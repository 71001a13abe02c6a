"""Which disks of a running guest have been outgrown by their claims."""

from pathlib import Path

from ingot.api.object import Object
from ingot.node.growth import _sources, _wishes
from ingot.node.record import Record

MIB = 1 << 20
DOMAIN = """<domain><devices>
<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='/v/disk.img' index='2'/>
  <target dev='vda' bus='virtio'/></disk>
<disk type='block' device='disk'><driver name='qemu' type='raw'/><source dev='/dev/loop7'/><target dev='vdb'/></disk>
<disk type='file' device='disk'><driver name='qemu' type='qcow2'/><source file='/v/over.qcow2'/>
  <backingStore type='file'><format type='raw'/><source file='/v/base.img'/></backingStore><target dev='vdc'/></disk>
<disk type='network' device='disk'><driver name='qemu' type='raw'/><source protocol='rbd' name='p/i'/>
  <target dev='vdd'/></disk>
<disk type='file' device='cdrom'><driver name='qemu' type='raw'/><target dev='sda'/></disk>
</devices></domain>"""


def test_only_raw_disks_on_this_node_are_made_larger() -> None:
    assert _sources(DOMAIN) == {"vda": ("file", Path("/v/disk.img")), "vdb": ("block", Path("/dev/loop7"))}


def test_disks_that_are_smaller_than_their_claims_are_to_grow(tmp_path: Path) -> None:
    names = ("small", "large", "unknown", "unplugged")
    told: list[Object] = [{"name": "small", "size": MIB}, {"name": "large", "size": 4 * MIB}, {"name": "unknown"}]
    record = Record(tmp_path, "uid", "default", "vm", "default_vm", volumes=[*told, {"name": "gone", "size": 1}])
    capacity = {"persistentVolumeClaimInfo": {"capacity": {"storage": "2Mi"}}}
    instance: Object = {
        "spec": {
            "volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names],
            "domain": {"devices": {"disks": [{"name": name, "disk": {}} for name in names]}},
        },
        "status": {"volumeStatus": [{"name": name, **capacity} for name in names]},
    }
    assert _wishes(instance, record) == [(told[0], 2 * MIB)]
