"""The common templates, in all their sizes, are what a server accepts, and so is what they make (G7)."""

import sys
from pathlib import Path

import pytest

from ingot.api.template.process import process
from ingot.control.golden import common

sys.path.append(str(Path(__file__).parents[1] / "api"))
from judge_cdi import stored

TEMPLATES = {each["metadata"]["name"]: each for each in common.templates()}


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_and_its_machine_are_accepted(name):
    template = TEMPLATES[name]
    assert stored(template) == template
    (machine,) = process(template)["objects"]
    assert stored(machine)["spec"]["template"]["spec"]["domain"]
    reference = machine["spec"]["dataVolumeTemplates"][0]["spec"]["sourceRef"]
    assert (reference["kind"], reference["namespace"]) == ("DataSource", "golden-images")


@pytest.mark.parametrize(("flavor", "memory", "cores"), [("tiny", "1Gi", 1), ("small", "2Gi", 1), ("large", "8Gi", 2)])
def test_sizes_differ_in_what_they_say_and_in_nothing_else(flavor, memory, cores):
    template = TEMPLATES[f"fedora-server-{flavor}"]
    labels = template["metadata"]["labels"]
    assert [key for key in labels if key.startswith("flavor.")] == [f"flavor.template.kubevirt.io/{flavor}"]
    assert ("template.kubevirt.io/default-os-variant" in labels) == (flavor == "small")
    domain = template["objects"][0]["spec"]["template"]["spec"]["domain"]
    assert (domain["memory"]["guest"], domain["cpu"]["cores"]) == (memory, cores)


def test_each_cron_keeps_a_source_that_templates_name():
    managed = {each["spec"]["managedDataSource"] for each in common.crons()}
    # Nobody may hand the image of the last one on.
    assert common.sources() - managed == {"win10"}
    assert managed < common.sources()


def test_the_crons_are_stored_as_they_are_so_that_nobody_writes_them_again():
    ordered = [{**each, "spec": {**each["spec"], "schedule": "7 */12 * * *"}} for each in common.crons()]
    ssp = {"apiVersion": "ssp.kubevirt.io/v1beta1", "kind": "SSP", "metadata": {"name": "ssp"}}
    ssp["spec"] = {"commonTemplates": {"dataImportCronTemplates": ordered}}
    assert stored(ssp) == ssp


def test_what_is_handed_out_may_be_changed():
    common.templates()[0].clear()
    common.crons()[0].clear()
    assert all(common.templates())
    assert all(common.crons())
