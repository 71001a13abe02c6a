"""Every YAML example of the seeds on disks (000, 001, 002, 004): accepted, and stored in one shape.

How they are repaired and made whole is in seed_examples.py. Those of seed 003 are in test_api_seeds_cdi.py.
"""

import re
from pathlib import Path

import pytest
from judge import ALPHA, V1, made, stored
from seed_examples import SEEDS, examples, parsed

from ingot.api.kubevirt import usage
from ingot.api.kubevirt.upgrade import source_of

PRINTED_IN = Path(__file__).parents[4] / "shared" / "seeds"
EXAMPLES = examples()


def kept_spec(name):
    """The disks and volumes that are stored of an old VM."""
    asked = EXAMPLES[name]
    assert (asked["apiVersion"], asked["kind"]) == (ALPHA, "VM")
    kept = stored(placed(name))
    assert kept["apiVersion"] == V1
    return {
        "disks": kept["spec"]["domain"]["devices"]["disks"],
        "volumes": kept["spec"]["volumes"],
    }


def placed(name):
    """An example in a namespace."""
    return {**EXAMPLES[name], "metadata": made("", {})["metadata"]}


def test_network_volume():
    assert stored(placed("000-1-network-volume"))["spec"]["volumes"] == [
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
    assert kept_spec("001-1-iscsi") == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **ISCSI}]}


def test_indirect_reference():
    assert kept_spec("001-2-claim") == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **CLAIM}]}


def test_dynamic_reference():
    assert kept_spec("001-3-container") == {
        "disks": [{"name": "disk-0"}],
        "volumes": [{"name": "disk-0", "container": {"image": "some-image-name", "workingDir": "/data"}}],
    }


@pytest.mark.parametrize(
    ("name", "source"),
    [("001-4-answer-claim", CLAIM), ("001-5-answer-iscsi", ISCSI)],
)
def test_answer_of_a_container(name, source):
    """An answer is the source of a disk. The second one has its lun beside iscsi, and is taken so."""
    assert kept_spec(name) == {"disks": [{"name": "disk-0"}], "volumes": [{"name": "disk-0", **source}]}
    assert source_of(parsed(name)).keys() == source.keys()


def test_usage_types_of_a_node():
    part = parsed("001-6-usage-types")
    found = usage.locations(part["annotations"])
    assert found == {"fast": "/storage/ssd", "slow": "/storage/rust"}
    assert usage.annotations(found) == part["annotations"]
    assert set(found.values()) == {mount["mountPath"] for mount in part["volumeMounts"]}


def test_access_mode_and_copy():
    assert kept_spec("001-7-access-and-copy") == {
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
    kept = stored(placed("002-1-vm"))
    assert (kept["apiVersion"], kept["kind"]) == (V1, "VM")
    assert kept["spec"]["domain"]["devices"]["disks"] == [{"name": "sda", "disk": {"bus": "scsi"}}]
    assert kept["spec"]["volumes"] == [{"name": "sda", "persistentVolumeClaim": {"claimName": "vm-01-disk"}}]


@pytest.mark.parametrize("driver", ["qemu", "kubelet"])
def test_driver(driver):
    assert kept_spec(f"002-2-driver-{driver}") == {
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
    kept = stored(placed("004-1-registry-disk"))
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


def test_no_example_is_missing():
    if not PRINTED_IN.is_dir():
        pytest.skip("the seeds as they were printed, in ../shared/seeds beside the clone")
    here = {path.name[:3]: set() for path in SEEDS.glob("*.yaml")}
    for path in SEEDS.glob("*.yaml"):
        here[path.name[:3]].add(path.read_text().strip())
    for seed in PRINTED_IN.glob("*.txt"):
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", seed.read_text(), re.DOTALL | re.MULTILINE)
        examples = {text.strip() for language, text in blocks if language == "yaml" or text.startswith("kind:")}
        assert examples == here.get(seed.name[:3], set()), seed.name


def test_every_example_is_a_whole_object():
    stems = {path.stem for path in SEEDS.glob("*.yaml")}
    assert {re.sub("-(qemu|kubelet)$", "", name) for name in EXAMPLES} == stems
