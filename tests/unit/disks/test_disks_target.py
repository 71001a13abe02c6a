"""The <disk> of every kind of endpoint and device."""

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ingot.api.kubevirt.uri import HostPort
from ingot.disks.chain import type_of
from ingot.disks.credentials import secret_usage
from ingot.disks.endpoint import Block, Credentials, File, Format, Network, Tls
from ingot.disks.facts import Facts, look
from ingot.disks.fault import DiskFault
from ingot.disks.target import Options, bus_of, device_names, render

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
HOST = HostPort("diskservice", 10809)
SECRET = Credentials("joe", b"very-secret")
IMAGE = File(Path("/images/disk.img"))
DEVICE = Block(Path("/dev/sdx"))
NBD = Network("nbd", "exports/Disk", (HOST,))
ISCSI = Network("iscsi", "iqn.2017-01.io:x", (HostPort("h", 3260),), lun=3, credentials=SECRET, initiator="iqn.a:me")
RBD = Network("rbd", "pool/image", (HostPort("m1", 6789), HostPort("::1", 6789)), credentials=SECRET)
GLUSTER = Network("gluster", "volume/a/file", (HostPort("g", 24007),))
SOCKET = Network("nbd", "", socket=Path("/run/b.sock"))
OVERLAY = File(Path("/pool/o.qcow2"), Format.QCOW2, backing=RBD)


def disk_of(endpoint, disk=None, volume=None, device="vda", **options):
    return render({"name": "root", **(disk or {})}, volume, endpoint, device, "ingot.u.root", Options(**options))


def text(element):
    ElementTree.indent(element)
    return ElementTree.tostring(element, encoding="unicode")


def test_the_example_of_the_network_volume_comes_out_as_it_stands():
    endpoint = Network("nbd", "Fedora-Workstation-Live-x86_64-34-1.2.iso", (HOST,))
    disk = {"name": "cdromnetworkdisk", "cdrom": {"bus": "sata"}}
    device = device_names([disk])["cdromnetworkdisk"]
    element = render(disk, {"name": "networkdisk"}, endpoint, device, options=Options("read-shared"))
    # `index` is libvirt's own, given to a running domain.
    expected = """
        <disk type='network' device='cdrom'>
          <driver name='qemu' type='raw' cache='none' error_policy='stop'/>
          <source protocol='nbd' name='Fedora-Workstation-Live-x86_64-34-1.2.iso' tls='no'>
            <host name='diskservice' port='10809'/>
          </source>
          <target dev='sda' bus='sata'/>
          <readonly/>
          <alias name='ua-cdromnetworkdisk'/>
          <address type='drive' controller='0' bus='0' target='0' unit='0'/>
        </disk>"""
    assert ElementTree.canonicalize(text(element), strip_text=True) == ElementTree.canonicalize(
        expected, strip_text=True
    )


def test_names_of_devices():
    names = device_names([{"name": f"v{number}"} for number in range(703)])
    assert [names[f"v{number}"] for number in (0, 25, 26, 701, 702)] == ["vda", "vdz", "vdaa", "vdzz", "vdaaa"]


def test_buses_that_guests_call_sd_share_a_row():
    disks = [
        {"name": "a", "disk": {"bus": "scsi"}},
        {"name": "b"},
        {"name": "c", "cdrom": {}},
        {"name": "d", "lun": {}},
        {"name": "e", "disk": {"bus": "usb"}},
    ]
    assert [bus_of(disk) for disk in disks] == ["scsi", "virtio", "sata", "scsi", "usb"]
    assert list(device_names(disks).values()) == ["sda", "vda", "sdb", "sdc", "sdd"]


def test_a_disk_that_says_nothing_has_the_usual_driver():
    element = disk_of(IMAGE)
    assert (element.get("type"), element.get("device")) == ("file", "disk")
    assert element.find("driver").attrib == {
        "name": "qemu",
        "type": "raw",
        "cache": "none",
        "error_policy": "stop",
        "discard": "unmap",
    }
    assert element.find("source").attrib == {"file": "/images/disk.img"}
    assert element.find("target").attrib == {"dev": "vda", "bus": "virtio"}
    assert [child.tag for child in element] == ["driver", "source", "target", "alias"]


def test_a_device_is_read_and_written_natively():
    assert disk_of(DEVICE).find("driver").get("io") == "native"
    assert disk_of(DEVICE, {"cache": "writeback"}).find("driver").get("io") is None
    assert disk_of(DEVICE, {"io": "threads"}).find("driver").get("io") == "threads"
    assert disk_of(IMAGE, {"io": "native"}).find("driver").get("io") == "native"


def test_a_filesystem_without_direct_io():
    facts = Facts(direct=False)
    assert disk_of(IMAGE, facts=facts).find("driver").get("cache") == "writethrough"
    for asked in ({"cache": "none"}, {"io": "native"}):
        with pytest.raises(DiskFault, match="O_DIRECT") as fault:
            disk_of(IMAGE, asked, facts=facts)
        assert fault.value.reason == "DirectIOUnsupported"


def test_facts_are_of_the_whole_chain(tmp_path):
    below = tmp_path / "below.img"
    below.write_bytes(bytes(4096))
    facts = look(File(below))
    assert 4096 >= facts.logical == facts.physical > 0
    memory = Path("/dev/shm")  # noqa: S108 - a tmpfs is what is wanted
    top = memory / f"ingot-{tmp_path.name}.qcow2"
    top.write_bytes(bytes(512))
    try:
        assert look(File(top, Format.QCOW2, backing=File(below))).direct is look(File(top)).direct
    finally:
        top.unlink()
    assert look(NBD) == Facts()
    with pytest.raises(FileNotFoundError):
        look(File(tmp_path / "none"))


def test_options_of_a_disk():
    disk = {
        "disk": {"bus": "virtio", "pciAddress": "0000:81:01.0"},
        "serial": "S-1",
        "bootOrder": 2,
        "errorPolicy": "report",
        "cache": "writeback",
        "blockSize": {"custom": {"logical": 512, "physical": 4096}},
    }
    element = disk_of(IMAGE, disk, io_thread=3, queues=2)
    driver = element.find("driver").attrib
    assert (driver["cache"], driver["error_policy"]) == ("writeback", "report")
    assert (driver["iothread"], driver["queues"]) == ("3", "2")
    assert element.findtext("serial") == "S-1"
    assert element.find("boot").get("order") == "2"
    assert element.find("blockio").attrib == {"logical_block_size": "512", "physical_block_size": "4096"}
    assert element.find("address").attrib == {
        "type": "pci",
        "domain": "0x0000",
        "bus": "0x81",
        "slot": "0x01",
        "function": "0x0",
    }


def test_block_sizes_of_the_volume():
    facts = Facts(logical=512, physical=4096)
    sizes = {"logical_block_size": "512", "physical_block_size": "4096"}
    assert disk_of(DEVICE, {"blockSize": {"matchVolume": {}}}, facts=facts).find("blockio").attrib == sizes
    off = {"blockSize": {"matchVolume": {"enabled": False}}}
    assert disk_of(DEVICE, off, facts=facts).find("blockio") is None


def test_servers_tell_no_block_sizes():
    with pytest.raises(DiskFault, match=r"set blockSize\.custom instead"):
        disk_of(NBD, {"blockSize": {"matchVolume": {}}})


def test_a_solid_disk():
    disk = {"disk": {"bus": "scsi", "rotationRate": 1}}
    assert disk_of(IMAGE, disk, device="sda").find("target").get("rotation_rate") == "1"


@pytest.mark.parametrize(
    ("access", "disk", "tags"),
    [
        ("write-exclusive", {}, set()),
        ("write-shared", {}, {"shareable"}),
        ("write-exclusive", {"shareable": True}, {"shareable"}),
        ("read-shared", {}, {"readonly"}),
        ("read-shared", {"shareable": True}, {"readonly"}),
        ("write-exclusive", {"disk": {"readonly": True}}, {"readonly"}),
        ("write-exclusive", {"cdrom": {"bus": "scsi"}}, {"readonly"}),
    ],
)
def test_sharing(access, disk, tags):
    device = "sda" if "cdrom" in disk else "vda"
    found = {child.tag for child in disk_of(IMAGE, disk, device=device, access=access)}
    assert found & {"readonly", "shareable"} == tags


@pytest.mark.parametrize("endpoint", [OVERLAY, IMAGE])
def test_a_copy_is_written_to_whatever_its_source_allows(endpoint):
    element = disk_of(endpoint, volume={"copy": {"mode": "clone"}}, access="read-shared")
    assert element.find("readonly") is None


def test_an_overlay_is_written_to_whatever_its_source_allows():
    assert disk_of(OVERLAY, access="read-shared").find("readonly") is None


def test_only_raw_images_are_shared_for_writing():
    with pytest.raises(DiskFault, match="format qcow2"):
        disk_of(File(Path("/a"), Format.QCOW2), access="write-shared")


def test_there_is_no_read_only_sata_disk():
    with pytest.raises(DiskFault, match="virtio or scsi"):
        disk_of(IMAGE, {"disk": {"bus": "sata"}}, device="sda", access="read-shared")


@pytest.mark.parametrize("endpoint", [IMAGE, NBD, OVERLAY, File(Path("/a"), Format.QCOW2)])
def test_a_lun_is_a_device(endpoint):
    with pytest.raises(DiskFault, match="takes a raw block device or iSCSI target"):
        disk_of(endpoint, {"lun": {}}, device="sda")
    assert disk_of(ISCSI, {"lun": {}}, device="sda").get("device") == "lun"


def test_reservations_of_a_device_go_through_a_helper():
    lun = {"lun": {"reservation": True}}
    assert disk_of(DEVICE, lun, device="sda").find("source/reservations").attrib == {"managed": "yes"}
    assert disk_of(ISCSI, lun, device="sda").find("source/reservations") is None
    assert disk_of(DEVICE, {"lun": {}}, device="sda").find("source/reservations") is None


def test_iscsi():
    source = disk_of(ISCSI).find("source")
    assert source.attrib == {"protocol": "iscsi", "name": "iqn.2017-01.io:x/3"}
    assert source.find("initiator/iqn").get("name") == "iqn.a:me"
    assert source.find("auth").attrib == {"username": "joe"}
    assert source.find("auth/secret").attrib == {"type": "iscsi", "usage": "ingot.u.root"}


def test_rbd():
    source = disk_of(RBD).find("source")
    assert [host.attrib for host in source.findall("host")] == [
        {"name": "m1", "port": "6789"},
        {"name": "::1", "port": "6789"},
    ]
    assert source.find("auth/secret").attrib == {"type": "ceph", "usage": "ingot.u.root"}


def test_gluster():
    source = disk_of(GLUSTER).find("source")
    assert source.attrib == {"protocol": "gluster", "name": "volume/a/file"}
    assert source.find("host").attrib == {"name": "g", "port": "24007", "transport": "tcp"}


def test_a_server_on_a_socket():
    source = disk_of(SOCKET).find("source")
    assert source.attrib == {"protocol": "nbd", "tls": "no"}
    assert source.find("host").attrib == {"transport": "unix", "socket": "/run/b.sock"}


@pytest.mark.parametrize("endpoint", [Network("https", "/a", (HOST,)), Network("nbd", "", (HOST,), tls=Tls())])
def test_what_needs_a_bridge_has_one(endpoint):
    with pytest.raises(ValueError, match="through a bridge"):
        disk_of(endpoint)


def test_a_chain_is_written_out_and_closed():
    middle = File(Path("/pool/m.qcow2"), Format.QCOW2, backing=RBD)
    element = disk_of(File(Path("/pool/t.qcow2"), Format.QCOW2, backing=middle), volume={"copy": {"mode": "clone"}})
    first = element.find("backingStore")
    assert (first.get("type"), first.find("format").get("type")) == ("file", "qcow2")
    second = first.find("backingStore")
    assert (second.get("type"), second.find("format").get("type")) == ("network", "raw")
    assert second.find("source/auth/secret").get("usage") == "ingot.u.root"
    assert list(second.find("backingStore")) == []
    assert second.find("backingStore").attrib == {}


def test_nobody_looks_for_a_backing_file_in_a_qcow2():
    element = disk_of(Network("nbd", "", (HOST,), format=Format.QCOW2))
    assert element.find("backingStore").attrib == {}
    assert disk_of(NBD).find("backingStore") is None


def test_what_is_read_is_kept():
    element = disk_of(OVERLAY, volume={"copy": {"mode": "copy-on-read"}})
    assert element.find("driver").get("copy_on_read") == "on"


@pytest.mark.parametrize("tray", ["open", "closed"])
def test_an_empty_drive(tray):
    element = disk_of(None, {"cdrom": {"bus": "scsi", "tray": tray}}, device="sdb")
    assert element.find("source") is None
    assert element.find("driver").attrib == {"name": "qemu", "type": "raw"}
    assert element.find("target").get("tray") == ("open" if tray == "open" else None)
    assert element.find("address").get("unit") == "1"


def test_sata_disks_beyond_a_controller():
    assert disk_of(IMAGE, {"disk": {"bus": "sata"}}, device="sdh").find("address").attrib == {
        "type": "drive",
        "controller": "1",
        "bus": "0",
        "target": "0",
        "unit": "1",
    }


def test_no_secret_is_in_a_disk():
    for endpoint in (ISCSI, RBD, OVERLAY):
        assert "very-secret" not in text(disk_of(endpoint))
    assert secret_usage("u", "root") == "ingot.u.root"


def test_libvirts_schema_knows_all_of_it(tmp_path):
    if not SCHEMA.exists() or shutil.which("xmllint") is None:
        pytest.skip("libvirt's schemas (libvirt0) and xmllint (libxml2-utils) are needed")
    full = {
        "serial": "s",
        "bootOrder": 1,
        "errorPolicy": "enospace",
        "blockSize": {"custom": {"logical": 512, "physical": 4096}},
    }
    disks = [
        disk_of(endpoint, {kind: {"bus": bus}, **more}, {"copy": {"mode": mode}}, device, io_thread=1, queues=2)
        for endpoint in (IMAGE, DEVICE, NBD, ISCSI, RBD, GLUSTER, SOCKET, OVERLAY)
        for kind, bus, device, more in (
            ("disk", "virtio", "vdaa", full),
            ("disk", "scsi", "sda", {}),
            ("cdrom", "sata", "sdz", {}),
            ("disk", "usb", "sdb", {}),
            ("lun", "scsi", "sdc", {}),
        )
        for mode in ("none", "copy-on-read")
        if kind != "lun" or endpoint is DEVICE or endpoint is ISCSI
    ]
    disks.append(disk_of(None, {"cdrom": {"tray": "open"}}, device="sdd"))
    disks.append(disk_of(DEVICE, {"lun": {"reservation": True}}, device="sde"))
    disks.append(disk_of(IMAGE, {"disk": {"pciAddress": "0000:01:02.3"}}, access="write-shared"))
    domain = ElementTree.Element("domain", type="qemu")
    ElementTree.SubElement(domain, "name").text = "x"
    ElementTree.SubElement(domain, "memory").text = "65536"
    ElementTree.SubElement(ElementTree.SubElement(domain, "os"), "type").text = "hvm"
    ElementTree.SubElement(domain, "devices").extend(disks)
    path = tmp_path / "domain.xml"
    path.write_text(text(domain))
    done = subprocess.run(
        ["xmllint", "--noout", "--relaxng", SCHEMA, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_kinds_of_endpoints():
    assert [type_of(each) for each in (IMAGE, DEVICE, NBD)] == ["file", "block", "network"]
