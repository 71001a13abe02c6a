"""Which cron templates a HyperConverged hands on (G6)."""

import pytest

from ingot.api.hco.hyperconverged import ENABLE_ANNOTATION, GATE
from ingot.api.object import name_of
from ingot.api.ssp.ssp import TEMPLATES, place_of
from ingot.control.golden import common
from ingot.control.golden.boot_images import boot_images

SHARED = name_of(common.crons()[0])


def own(name, namespace, **metadata):
    return {"metadata": {"name": name, "namespace": namespace, **metadata}, "spec": {"managedDataSource": "a"}}


def handed_on(*templates, gate=False):
    found = boot_images({"spec": {TEMPLATES: list(templates), "featureGates": {GATE: gate}}}, "1 */12 * * *")
    return [(*place_of(each.template), each.modified) for each in found if name_of(each.template) in ("mine", SHARED)]


def test_each_namespace_has_its_own_of_a_name():
    assert handed_on(own("mine", "b"), own("mine", "a")) == [("a", "mine", False), ("b", "mine", False)]


@pytest.mark.parametrize("off", [True, False])
def test_one_of_the_name_of_a_common_one_is_handed_on_instead_wherever_it_goes(off):
    notes = {"annotations": {ENABLE_ANNOTATION: "false"}} if off else {}
    wanted = [("a", SHARED, True), ("b", SHARED, True)][off:]
    assert handed_on(own(SHARED, "b"), own(SHARED, "a", **notes), gate=True) == wanted
