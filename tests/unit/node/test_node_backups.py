"""What is written of backup jobs, and read of domains for them."""

from pathlib import Path
from xml.etree import ElementTree

from ingot.node.backups import job, names_in

DOMAIN = """<domain><devices>
<disk type='file' device='disk'><target dev='vda'/><alias name='ua-root'/></disk>
<disk type='block'><target dev='sda'/><alias name='ua-data.one'/></disk>
<disk type='file' device='cdrom'><target dev='sdb'/><alias name='ua-media'/></disk>
<disk type='block' device='lun'><target dev='sdc'/><alias name='ua-raw'/></disk>
</devices></domain>"""


def test_disks_are_known_by_their_volumes_and_drives_and_luns_are_none() -> None:
    assert names_in(DOMAIN) == {"root": "vda", "data.one": "sda"}


def test_a_job_has_one_socket_and_a_scratch_file_for_each_disk() -> None:
    written = ElementTree.fromstring(job(Path("/m/cap/nbd"), {"root": (Path("/m/a&b"), "vda")}))
    server, disk, scratch = written.find("server"), written.find("disks/disk"), written.find("disks/disk/scratch")
    assert written.get("mode") == "pull"
    assert server is not None
    assert server.attrib == {"transport": "unix", "socket": "/m/cap/nbd"}
    assert disk is not None
    assert (disk.get("name"), disk.get("exportname"), disk.get("backup")) == ("vda", "root", "yes")
    assert scratch is not None
    assert scratch.get("file") == "/m/a&b"
