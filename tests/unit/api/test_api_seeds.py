"""Every YAML example of the seeds on disks (000, 001, 002, 004), as printed: accepted, and stored in one shape.

The examples are in seeds/*.yaml, letter by letter. Where one is not YAML, or is a part of an object only, its test
says how it is repaired and what it is put into. Those of seed 003 are in test_api_seeds_cdi.py.
"""

import re
from pathlib import Path

import pytest
import yaml
from judge import ALPHA, V1, made, stored

from ingot.api.kubevirt import usage
from ingot.api.kubevirt.upgrade import source_of

SEEDS = Path(__file__).parent / "seeds"
PRINTED_IN = Path(__file__).parents[4] / "shared" / "seeds"


def printed(name):
    return (SEEDS / f"{name}.yaml").read_text()


def with_spaces(name):
    """The repair of seed 001: its tabs stand for columns of eight, and YAML has no tabs."""
    return yaml.safe_load(printed(name).expandtabs(8))


def kept_spec(disks):
    """The spec that is stored of an old VM with these disks."""
    devices = {"disks": disks, "autoattachPodInterface": False}
    kept = stored(made("VM", {"domain": {"devices": devices}}, ALPHA))
    assert kept["apiVersion"] == V1
    return {
        "disks": kept["spec"]["domain"]["devices"]["disks"],
        "volumes": kept["spec"]["volumes"],
    }


def test_network_volume():
    # A part of the list of volumes.
    asked = made(
        "VirtualMachineInstance",
        {
            "domain": {"devices": {"disks": [{"name": "networkdisk", "cdrom": {"bus": "sata"}}]}},
            "volumes": yaml.safe_load(printed("000-1-network-volume")),
        },
    )
    assert stored(asked)["spec"]["volumes"] == [
        {
            "name": "networkdisk",
            "networkVolume": {
                "uri": "nbd://diskservice/Fedora-Workstation-Live-x86_64-34-1.2.iso",
                "format": "raw",
                "readOnly": True,
            },
        }
    ]


ISCSI = {
    "iscsi": {
        "targetPortal": "iscsi-demo-target:3260",
        "iqn": "iqn.2017-01.io.kubevirt:sn.42",
        "lun": 2,
        "format": "raw",
    }
}
CLAIM = {"persistentVolumeClaim": {"claimName": "some-pvc-name"}}


def test_direct_reference():
    asked = with_spaces("001-1-iscsi")
    assert kept_spec(asked["disks"]) == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **ISCSI}]}


def test_indirect_reference():
    asked = with_spaces("001-2-claim")
    assert kept_spec(asked["disks"]) == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **CLAIM}]}


def test_dynamic_reference():
    # Beside the tabs: the line of dots stands for any attribute of a container, so it becomes one.
    text = printed("001-3-container").replace("... any other k8s container attribute...", "workingDir: /data")
    asked = yaml.safe_load(text.expandtabs(8))
    assert kept_spec(asked["disks"]) == {
        "disks": [{"name": "disk-0"}],
        "volumes": [{"name": "disk-0", "container": {"image": "some-image-name", "workingDir": "/data"}}],
    }


@pytest.mark.parametrize(
    ("name", "source"),
    [("001-4-answer-claim", CLAIM), ("001-5-answer-iscsi", ISCSI)],
)
def test_answer_of_a_container(name, source):
    """An answer is the source of a disk. The second one has its lun beside iscsi, and is taken so."""
    answer = yaml.safe_load(printed(name))
    kept = kept_spec([{"source": answer}])
    assert kept == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **source}]}
    converted = source_of(answer)
    assert converted.keys() == source.keys()


def test_usage_types_of_a_node():
    # Parts of a pod: of its metadata, and of its container.
    part = yaml.safe_load(printed("001-6-usage-types"))
    found = usage.locations(part["annotations"])
    assert found == {"fast": "/storage/ssd", "slow": "/storage/rust"}
    assert usage.annotations(found) == part["annotations"]
    assert set(found.values()) == {mount["mountPath"] for mount in part["volumeMounts"]}


def test_access_mode_and_copy():
    asked = with_spaces("001-7-access-and-copy")
    assert kept_spec(asked["disks"]) == {
        "disks": [{"name": "disk-0"}],
        "volumes": [
            {
                "name": "disk-0",
                **CLAIM,
                # "read-only" is the seed's word in this example for what it calls read-shared elsewhere.
                "accessMode": "read-shared",
                "copy": {"mode": "copy-on-write", "usageType": "fast"},
            }
        ],
    }


def test_vm_with_a_claim():
    # The example has no apiVersion and no name.
    asked = {**made("", {}, ALPHA), **yaml.safe_load(printed("002-1-vm"))}
    kept = stored(asked)
    assert (kept["apiVersion"], kept["kind"]) == (V1, "VM")
    assert kept["spec"]["domain"]["devices"]["disks"] == [{"name": "sda", "disk": {"bus": "scsi"}}]
    assert kept["spec"]["volumes"] == [{"name": "sda", "persistentVolumeClaim": {"claimName": "vm-01-disk"}}]


@pytest.mark.parametrize(("index", "driver"), [(0, "qemu"), (1, "kubelet")])
def test_driver(index, driver):
    # Two documents, each a part of the list of disks.
    disks = list(yaml.safe_load_all(printed("002-2-driver")))[index]
    assert kept_spec(disks) == {
        "disks": [{"name": "disk-0"}],
        "volumes": [
            {
                "name": "disk-0",
                "persistentVolumeClaim": {"claimName": "vm-01-disks"},
                "driver": {"name": driver},
            }
        ],
    }


def test_registry_disk():
    # The dashes before source and target make a list where an object is meant; without them it is one. It has no
    # apiVersion and no name either.
    text = re.sub(r"- (source|target):", r"\1:", printed("004-1-registry-disk"))
    kept = stored({**made("", {}, ALPHA), **yaml.safe_load(text)})
    assert (kept["apiVersion"], kept["kind"]) == (V1, "VirtualMachine")
    assert kept["spec"] == {
        "runStrategy": "Always",
        "template": {
            "spec": {
                "domain": {"devices": {"disks": [{"name": "sda", "disk": {"bus": "scsi"}}]}},
                "volumes": [
                    {
                        "name": "sda",
                        "containerDisk": {"image": "vmdisks/fedora25:latest", "standard": "iscsi-v1alpha"},
                    }
                ],
            }
        },
    }


@pytest.mark.skipif(not PRINTED_IN.is_dir(), reason="the seeds are not beside this checkout")
def test_no_example_is_missing():
    here = {path.name[:3]: set() for path in SEEDS.glob("*.yaml")}
    for path in SEEDS.glob("*.yaml"):
        here[path.name[:3]].add(path.read_text().strip())
    for seed in PRINTED_IN.glob("*.txt"):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", seed.read_text(), re.DOTALL | re.MULTILINE)
        examples = {text.strip() for language, text in blocks if language == "yaml" or text.startswith("kind:")}
        assert examples == here.get(seed.name[:3], set()), seed.name
