"""What a cron has from the template that an SSP orders it by (G5)."""

import pytest

from ingot.api.cdi import names
from ingot.control.golden.ordered import Order
from ingot.kube.cache import Key


def dressed(cron, **template):
    Order(Key("golden-images", "fedora"), {"metadata": template, "spec": {}}).dress(cron)
    return cron["metadata"]


def test_what_a_template_says_no_longer_goes_from_its_cron_and_what_people_say_stays():
    cron = {"metadata": {"labels": {"mine": "1"}, "annotations": {names.PINNED: "sha256:1"}}}
    dressed(cron, labels={"a": "1", "b": "1"}, annotations={names.PRERELEASES: "true", names.CHECKSUM_FILE: "one"})
    found = dressed(cron, labels={"a": "2"}, annotations={names.CHECKSUM_FILE: "two"})
    assert found["labels"] == {"mine": "1", "a": "2"}
    assert {key: text for key, text in found["annotations"].items() if "template" not in key} == {
        names.PINNED: "sha256:1",
        names.CHECKSUM_FILE: "two",
    }


@pytest.mark.parametrize("text", ["{", "[]", '{"labels": 1}', '{"x":' + "[" * 5000])
def test_what_others_wrote_of_it_is_nothing(text):
    cron = {"metadata": {"annotations": {names.FROM_TEMPLATE: text, "mine": "1"}}}
    assert dressed(cron)["annotations"]["mine"] == "1"
