"""What is said of a cron, while it waits on the DataSource for the next one."""

import pytest

from ingot.api.cdi import names
from ingot.control.golden import keepsake
from ingot.control.golden.ordered import Order
from ingot.kube.cache import Key

PIN = {names.PINNED: "sha256:1", names.CHECK_NOW: "2"}


def obj(uid="old", **annotations):
    return {"metadata": {"uid": uid, "annotations": annotations}}


def test_what_people_said_waits_and_nothing_else():
    source = {"metadata": {}}
    keepsake.leave(source, obj(**PIN, **{names.LAST_CRON_TIME: "now", "mine": "1"}))
    assert keepsake.said_of(source) == PIN
    assert not keepsake.is_handed_over(source, obj("old"))
    assert keepsake.is_handed_over(source, obj("new"))
    keepsake.drop(source)
    assert source == {"metadata": {"annotations": {}}}


def test_what_a_template_says_does_not_wait():
    order = Order(Key("golden-images", "cron"), {"metadata": {"annotations": {names.PRERELEASES: "true"}}, "spec": {}})
    cron, source = obj(**PIN), {"metadata": {}}
    order.dress(cron)
    keepsake.leave(source, cron)
    assert keepsake.said_of(source) == PIN


def test_a_cron_of_which_nothing_is_said_takes_back_what_an_earlier_one_has_left():
    source = obj("source", mine="1")
    keepsake.leave(source, obj(**PIN))
    keepsake.leave(source, obj())
    assert source == obj("source", mine="1")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"uid": 1, "said": {}}', '{"uid": "a", "said": {"b": 1}}', '{"said":' + "[" * 5000],
)
def test_what_others_wrote_there_is_nothing(text):
    source = obj("source", **{names.CRON_SAID: text})
    assert keepsake.said_of(source) == {}
    assert not keepsake.is_handed_over(source, obj("new"))


def test_no_more_can_be_smuggled_in_than_people_may_say():
    source = obj("source", **{names.CRON_SAID: '{"uid": "a", "said": {"ingot.io/newest-version": "9"}}'})
    assert keepsake.said_of(source) == {}
    assert keepsake.said_of(None) == {}
