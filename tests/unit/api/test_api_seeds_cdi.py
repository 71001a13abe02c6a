"""Every YAML example of the golden image design (seed 003), as printed: accepted, and stored in one shape."""

import pytest
from judge_cdi import STAMPED, stored
from seed_examples import SEEDS, examples, parsed

from ingot.api import registry
from ingot.api.cdi.datavolume import DataVolumeSpec
from ingot.api.cdi.faults import volume_faults
from ingot.api.machinery.meta import ObjectMeta

# None of them had to be repaired. Those that are a part of an object only are put into one by seed_examples.py.
WHOLE = (
    "3-datasource-of-ssp",
    "5-datavolume",
    "6-dataimportcron",
    "7-datasource",
    "8-ssp",
    "9-hyperconverged",
)
PARTS = ("1-vm-template-before", "2-vm-template-after", "4-owner-references")


def printed(name):
    return parsed(f"003-{name}")


def cron_template(image):
    return {"spec": {"source": {"registry": {"url": image}}, "storage": {}}}


def test_every_example_is_tested():
    assert {path.stem for path in SEEDS.glob("003-*.yaml")} == {f"003-{name}" for name in (*WHOLE, *PARTS)}


@pytest.mark.parametrize("name", ["3-datasource-of-ssp", "5-datavolume"])
def test_what_is_in_todays_shape_stays(name):
    assert stored(printed(name)) == printed(name)


@pytest.mark.parametrize("name", WHOLE)
def test_applying_twice_changes_nothing(name):
    once = stored(printed(name))
    # What kubectl's merge patch makes of the second time: all that was written before, over what is stored.
    again = {**registry.copy_json(once), "spec": {**registry.copy_json(once["spec"]), **printed(name)["spec"]}}
    assert stored(again, once) == once


def test_the_data_source_with_status():
    asked = printed("7-datasource")
    assert stored(asked) == {key: value for key, value in asked.items() if key != "status"}
    assert stored(asked, stored(asked), status=True) == asked


def test_the_cron():
    asked = printed("6-dataimportcron")
    assert stored(asked) == {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataImportCron",
        "metadata": {"name": "fedora-image-import-cron", "namespace": "golden-images"},
        "spec": {
            "template": cron_template("docker://quay.io/kubevirt/fedora"),
            "schedule": "0 */12 * * *",
            "garbageCollect": "Outdated",
            "managedDataSource": "fedora",
        },
    }


def test_the_status_of_the_cron():
    asked = printed("6-dataimportcron")
    # The example has times of day where moments in time belong; a controller writes these.
    moment = "2021-06-01T01:01:01Z"
    asked["status"] |= {"lastExecutionTimestamp": moment, "lastImport": moment}
    made = stored(asked, stored(asked), status=True)
    assert made["status"] == {
        "lastImportedPVC": {"namespace": "golden-images", "name": "fedora-v33"},
        "lastExecutionTimestamp": moment,
        "lastImportTimestamp": moment,
        "conditions": printed("6-dataimportcron")["status"]["conditions"],
    }


def test_the_ssp():
    def template(name, image, source):
        return {
            "metadata": {"name": name, "namespace": "golden-image-namespace"},
            "spec": {"template": cron_template(image), "managedDataSource": source},
        }

    assert stored(printed("8-ssp")) == {
        "apiVersion": "ssp.kubevirt.io/v1beta1",
        "kind": "SSP",
        "metadata": {"name": "ssp-cr"},
        "spec": {
            "commonTemplates": {
                "dataImportCronTemplates": [
                    template("fedora-image-cron", "docker://quay.io/kubevirt/fedora", "fedora"),
                    template("centos8-image-cron", "docker://quay.io/kubevirt/centos8", "centos8"),
                ]
            }
        },
    }


def test_the_hyperconverged():
    def template(number, schedule):
        return {
            "metadata": {"name": f"custom-image{number}"},
            "spec": {
                "schedule": schedule,
                "template": cron_template(f"docker://myprivateregistry/custom{number}"),
                "managedDataSource": f"custom{number}",
            },
        }

    assert stored(printed("9-hyperconverged")) == {
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged"},
        "spec": {
            "featureGates": {"enableCommonBootImageImport": True},
            "dataImportCronTemplates": [template(1, "0 */12 * * *"), template(2, "1 */12 * * *")],
        },
    }


@pytest.mark.parametrize("name", ["1-vm-template-before", "2-vm-template-after"])
def test_the_templates_in_a_machine(name):
    made = stored({**examples()[f"003-{name}"], **STAMPED})
    assert made["spec"]["dataVolumeTemplates"] == printed(name)["dataVolumeTemplates"]


@pytest.mark.parametrize(
    ("name", "field", "said"),
    [
        ("1-vm-template-before", "source", {"pvc": {"namespace": "golden-images", "name": "fedora"}}),
        (
            "2-vm-template-after",
            "source_ref",
            {"kind": "DataSource", "namespace": "golden-images", "name": "fedora"},
        ),
    ],
)
def test_the_templates_as_volumes(name, field, said):
    [volume] = printed(name)["dataVolumeTemplates"]
    assert stored(volume) == volume
    assert volume_faults(volume["spec"], "spec") == []
    assert getattr(DataVolumeSpec.from_object(volume["spec"]), field).to_object() == said


def test_the_owners_of_an_adopted_data_source():
    asked = examples()["003-4-owner-references"]
    assert stored(asked) == asked
    owners = ObjectMeta.from_object(asked["metadata"]).owner_references
    assert [(owner.kind, owner.controller) for owner in owners] == [("SSP", True), ("DataImportCron", False)]
