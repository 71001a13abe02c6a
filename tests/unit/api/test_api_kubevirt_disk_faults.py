"""Disks and volumes that no guest could have."""

import base64

import pytest
from judge import instance, made, refusal, stored

CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}
NBD = {"nbd": {"host": "h"}}
ISCSI = {"iscsi": {"targetPortal": "h", "iqn": "iqn.2017-01.io:x"}}
WEB = {"http": {"url": "http://h/x"}}


def asked(disk, volume=None):
    return instance({"name": "a", **(volume or CLAIM)}, disks=[{"name": "a", **disk}])


def network(uri, **more):
    return {"networkVolume": {"uri": uri, "format": "raw", **more}}


@pytest.mark.parametrize(
    ("disk", "volume"),
    [
        ({"cdrom": {"bus": "scsi"}}, WEB),
        ({"cdrom": {"bus": "sata"}}, {**NBD, "copy": {"mode": "copy-on-write"}}),
        ({"lun": {}}, CLAIM),
        ({"lun": {"bus": "scsi", "reservation": True}}, ISCSI),
        ({"lun": {}}, {"dataVolume": {"name": "d"}}),
        ({"lun": {}}, network("iscsi://h/iqn.2017-01.io:x/1")),
        ({"disk": {"bus": "virtio", "pciAddress": "0000:81:00.7"}, "dedicatedIOThread": True}, CLAIM),
        ({"disk": {"bus": "scsi", "rotationRate": 7200}}, CLAIM),
        ({"disk": {"bus": "sata"}}, {**WEB, "copy": {"mode": "copy-on-read"}}),
        ({"disk": {"bus": "scsi", "readonly": True}}, CLAIM),
        ({"serial": "A-z_0.9+"}, CLAIM),
        ({"io": "native", "cache": "none"}, CLAIM),
        ({"io": "threads", "cache": "writeback"}, CLAIM),
        ({"shareable": True, "cache": "none"}, {**CLAIM, "accessMode": "write-shared"}),
        ({"blockSize": {"custom": {"logical": 512, "physical": 2 << 20}}}, CLAIM),
        ({}, {"ephemeral": CLAIM, "copy": {"mode": "copy-on-write", "usageType": "fast"}}),
        ({}, {"hostDisk": {"path": "/a", "type": "DiskOrCreate", "capacity": "1Gi"}}),
        ({}, {"cloudInitNoCloud": {"userData": "x" * 2048, "networkDataBase64": "eA=="}}),
        ({}, {"cloudInitConfigDrive": {"networkData": "x"}}),
        ({}, {"secret": {"secretName": "s", "volumeLabel": "x" * 32}}),
    ],
)
def test_disks_that_can_be_had(disk, volume):
    assert stored(asked(disk, volume))


@pytest.mark.parametrize(
    ("disk", "field", "said"),
    [
        ({"cdrom": {"bus": "virtio"}}, "cdrom.bus", "Bus type virtio is invalid for a CD-ROM device"),
        ({"lun": {"bus": "sata"}}, "lun.bus", "scsi bus only"),
        ({"disk": {"rotationRate": 1}}, "disk.rotationRate", "only sata and scsi"),
        (
            {"disk": {"bus": "sata", "pciAddress": "0000:01:01.0"}},
            "disk.pciAddress",
            "only possible with bus type virtio",
        ),
        ({"disk": {"pciAddress": "0000:81:00.8"}}, "disk.pciAddress", "is malformed"),
        ({"disk": {"pciAddress": "0000:81:01.0"}}, "disk.pciAddress", "it looks like 0000:03:00.0"),
        ({"disk": {"pciAddress": "0000:00:00.0"}}, "disk.pciAddress", "bus 00, slot 01 to 1f"),
        (
            {"disk": {"bus": "scsi"}, "dedicatedIOThread": True},
            "dedicatedIOThread",
            "not supported for disks on a scsi",
        ),
        ({"cdrom": {}, "dedicatedIOThread": True}, "dedicatedIOThread", "on a sata bus"),
        ({"lun": {}, "serial": "a"}, "serial", "device's own serial number"),
        ({"serial": "a b"}, "serial", "[A-Za-z0-9_.+-]"),
        ({"io": "native", "cache": "writeback"}, "io", "needs cache none, and cache is writeback"),
        ({"shareable": True, "cache": "writethrough"}, "cache", "has cache none"),
        ({"blockSize": {"custom": {"logical": 1000}}}, "blockSize.custom.logical", "power of 2"),
        ({"blockSize": {"custom": {"physical": 4 << 20}}}, "blockSize.custom.physical", "at most 2097152"),
        (
            {"blockSize": {"custom": {"logical": 4096, "physical": 512}}},
            "blockSize.custom.logical",
            "must be the same or less than the physical size of 512",
        ),
        (
            {"blockSize": {"custom": {"discardGranularity": 4096}}},
            "blockSize.custom.discardGranularity",
            "leave it out",
        ),
        ({"disk": {"bus": "sata", "readonly": True}}, "disk.bus", "no read-only sata disks"),
    ],
)
def test_disks_that_cannot_be_had(disk, field, said):
    assert refusal(asked(disk)).startswith(f"spec.domain.devices.disks[0].{field}: Invalid value: ")
    assert said in refusal(asked(disk))


@pytest.mark.parametrize(
    ("disk", "volume", "field", "said"),
    [
        ({"lun": {}}, NBD, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, WEB, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, {"emptyDisk": {"capacity": "1Gi"}}, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, {"containerDisk": {"image": "i"}}, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, {"cloudInitNoCloud": {"userData": "x"}}, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, {"iscsi": {**ISCSI["iscsi"], "format": "qcow2"}}, "lun", "a lun needs a SCSI device"),
        ({"lun": {}}, {**ISCSI, "copy": {"mode": "copy-on-write"}}, "lun", "copy mode copy-on-write makes a file"),
        ({"lun": {}}, {"ephemeral": CLAIM}, "lun", "a lun needs a SCSI device"),
        ({"shareable": True}, {**CLAIM, "accessMode": "read-shared"}, "shareable", "accessMode is read-shared"),
        ({"shareable": True}, {**CLAIM, "accessMode": "write-exclusive"}, "shareable", "use write-shared"),
        ({"shareable": True}, {**CLAIM, "copy": {"mode": "clone"}}, "shareable", "a disk of its own"),
        ({"cache": "writeback"}, {**CLAIM, "accessMode": "write-shared"}, "cache", "has cache none"),
        (
            {},
            {"nbd": {"host": "h", "format": "qcow2"}, "accessMode": "write-shared"},
            "name",
            "several machines cannot write to a qcow2",
        ),
        ({"disk": {"bus": "sata"}}, {**CLAIM, "accessMode": "read-shared"}, "disk.bus", "no read-only sata disks"),
        ({"disk": {"bus": "sata"}}, network("nbd://h/x"), "disk.bus", "no read-only sata disks"),
        ({"disk": {"bus": "sata"}}, WEB, "disk.bus", "no read-only sata disks"),
        ({"cdrom": {}}, {**CLAIM, "copy": {"mode": "copy-on-read"}}, "cdrom", "use copy-on-write or clone"),
        ({"disk": {"readonly": True}}, {**CLAIM, "copy": {"mode": "copy-on-read"}}, "disk", "keeps what is read"),
    ],
)
def test_disks_that_their_volumes_do_not_allow(disk, volume, field, said):
    told = refusal(asked(disk, volume))
    assert told.startswith(f"spec.domain.devices.disks[0].{field}: Invalid value: ")
    assert said in told


@pytest.mark.parametrize(
    ("volume", "field", "said"),
    [
        (network("https://h/x", readOnly=False), "networkVolume.readOnly", "only read from"),
        ({"ephemeral": CLAIM, "copy": {"mode": "clone"}}, "copy.mode", "for clone name the claim"),
        ({"emptyDisk": {"capacity": "0"}}, "emptyDisk.capacity", "must be greater than 0"),
        ({"emptyDisk": {"capacity": "10E"}}, "emptyDisk.capacity", "less than 8Ei"),
        (network("nbd://h/x", secretRef={"name": "s"}), "networkVolume.secretRef", "use nbds"),
        (network("http://h/x", certConfigMap={"name": "s"}), "networkVolume.certConfigMap", "use https"),
        ({"nbd": {"host": "h", "secretRef": {"name": "s"}}}, "nbd.secretRef", "set tls"),
        ({"hostDisk": {"path": "a/b", "type": "Disk"}}, "hostDisk.path", "absolute"),
        ({"hostDisk": {"path": "/a", "type": "Disk", "capacity": "1Gi"}}, "hostDisk.capacity", "'DiskOrCreate'"),
        ({"hostDisk": {"path": "/a", "type": "DiskOrCreate", "capacity": 0}}, "hostDisk.capacity", "greater than 0"),
        ({"cloudInitNoCloud": {}}, "cloudInitNoCloud", "must have at least one userdata source"),
        ({"cloudInitNoCloud": {"userData": "a", "secretRef": {"name": "b"}}}, "cloudInitNoCloud", "only one userdata"),
        (
            {"cloudInitConfigDrive": {"userData": "a", "networkData": "a", "networkDataBase64": "YQ=="}},
            "cloudInitConfigDrive",
            "only one networkdata",
        ),
        ({"cloudInitNoCloud": {"userData": "ä" * 1025}}, "cloudInitNoCloud.userData", "exceeds 2048 byte limit"),
        (
            {"cloudInitNoCloud": {"userDataBase64": base64.b64encode(bytes(2049)).decode()}},
            "cloudInitNoCloud.userDataBase64",
            "exceeds 2048 byte limit",
        ),
        ({"cloudInitNoCloud": {"userDataBase64": "!"}}, "cloudInitNoCloud.userDataBase64", "not a valid base64"),
        ({"cloudInitNoCloud": {"userDataBase64": "ü"}}, "cloudInitNoCloud.userDataBase64", "not a valid base64"),
        ({"configMap": {}}, "configMap.name", "is a required field"),
        ({"secret": {}}, "secret.secretName", "is a required field"),
        ({"serviceAccount": {}}, "serviceAccount.serviceAccountName", "is a required field"),
        ({"secret": {"secretName": "s", "volumeLabel": "x" * 33}}, "secret.volumeLabel", "at most 32"),
    ],
)
def test_volumes_that_cannot_be_had(volume, field, said):
    told = refusal(asked({}, volume))
    assert told.startswith(f"spec.volumes[0].{field}: ")
    assert said in told


def two(first, second, **disk):
    volumes = ({"name": "a", **CLAIM, **first}, {"name": "b", **second})
    return instance(*volumes, disks=[{"name": "a"}, {"name": "b", **disk}])


def test_one_claim_is_written_to_once():
    told = refusal(two({}, CLAIM))
    assert told.startswith('spec.volumes[1]: Invalid value: "c": spec.volumes[0] writes to the same claim')
    assert "spec.volumes[1]" in refusal(two({}, {"dataVolume": {"name": "c"}}))


@pytest.mark.parametrize(
    ("second", "disk"),
    [
        ({**CLAIM, "copy": {"mode": "clone"}}, {}),
        ({**CLAIM, "accessMode": "read-shared"}, {}),
        (CLAIM, {"cdrom": {}}),
        (CLAIM, {"disk": {"readonly": True}}),
        ({"ephemeral": CLAIM}, {}),
        ({"persistentVolumeClaim": {"claimName": "d"}}, {}),
    ],
)
def test_one_claim_in_several_ways(second, disk):
    assert stored(two({}, second, **disk))


def test_faults_of_a_template_have_its_path():
    template = asked({"cdrom": {"bus": "virtio"}})["spec"]
    said = refusal(made("VirtualMachine", {"running": False, "template": {"spec": template}}))
    assert said.startswith("spec.template.spec.domain.devices.disks[0].cdrom.bus")


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"ephemeral": {}}, "ephemeral.persistentVolumeClaim"),
        ({"hostDisk": {"path": "/a", "type": "DiskOrCreate"}}, "hostDisk.capacity"),
    ],
)
def test_sources_are_whole(source, field):
    assert f"spec.volumes[0].{field}: Required value" in refusal(instance({"name": "v", **source}))


@pytest.mark.parametrize(
    "source", [{"serviceAccount": {"serviceAccountName": "a"}}, {"memoryDump": {"claimName": "c"}}]
)
def test_some_volumes_are_there_once_at_most(source):
    said = refusal(instance({"name": "a", **source}, {"name": "b", **source}))
    assert f"spec.volumes[1].{next(iter(source))}: Invalid value" in said
    assert "must have max one" in said
