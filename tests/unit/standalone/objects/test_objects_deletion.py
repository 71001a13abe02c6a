"""DeleteOptions: from the body or the query, and refused in Kubernetes' words."""

from typing import Any

import pytest

from ingot.api.status import ApiError
from ingot.standalone.access.user import User
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.deletion import Options, check_preconditions, options, read
from ingot.standalone.resources.served import Served

JSON = "application/json"
CONFIG_MAPS = next(definition for definition in DEFINITIONS if definition.key == "configmaps")


def call(**query: str) -> Call:
    served = Served(CONFIG_MAPS, CONFIG_MAPS.versions["v1"])
    return Call(served, "delete", "default", "one", "", User("somebody"), query)


def test_a_body_counts_alone() -> None:
    asked = call(propagationPolicy="Sideways", dryRun="All")
    assert read(asked, b'{"kind":"DeleteOptions","apiVersion":"apps/v1","gracePeriodSeconds":5}', JSON) == Options(
        grace=5
    )
    assert read(asked, b"null", JSON) == Options()


def test_the_query_counts_without_a_body() -> None:
    asked = call(gracePeriodSeconds="3", propagationPolicy="Foreground", dryRun="All")
    assert read(asked, b"", JSON) == Options(grace=3, policy="Foreground", dry_run=True)
    assert read(call(orphanDependents="maybe"), b"", JSON) == Options(policy="Orphan")
    assert read(call(orphanDependents="False"), b"", JSON) == Options(policy="Background")


def test_less_than_nothing_is_a_second() -> None:
    assert options({"gracePeriodSeconds": -5}).grace == 1
    assert options({"gracePeriodSeconds": 0}).grace == 0


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (b"[]", "cannot unmarshal array into Go value"),
        (b'{"kind":"Pod","apiVersion":"v1"}', 'no kind "Pod" is registered for version "v1"'),
        (b'{"dryRun":"All"}', "cannot unmarshal string into Go struct field DeleteOptions.dryRun of type \\[\\]string"),
    ],
)
def test_a_body_that_cannot_be_read_is_an_error_of_the_server(raw: bytes, message: str) -> None:
    with pytest.raises(ApiError, match=message) as refused:
        read(call(), raw, JSON)
    assert refused.value.code == 500


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        ({"propagationPolicy": "Sideways"}, ["propagationPolicy"]),
        ({"propagationPolicy": ""}, ["propagationPolicy"]),
        ({"propagationPolicy": "Orphan", "orphanDependents": False}, ["propagationPolicy"]),
        ({"propagationPolicy": "X", "dryRun": ["All", "Some"]}, ["propagationPolicy", "dryRun"]),
    ],
)
def test_every_option_that_will_not_do_is_named(given: dict[str, Any], fields: list[str]) -> None:
    with pytest.raises(ApiError) as refused:
        options(given)
    assert refused.value.details is not None
    assert [cause["field"] for cause in refused.value.details["causes"]] == fields


def test_only_the_object_that_is_meant_goes() -> None:
    obj = {"metadata": {"name": "one", "uid": "a", "resourceVersion": "7"}}
    check_preconditions(call(), obj, Options(uid="a", revision="7"))
    for chosen in (Options(uid="b"), Options(revision="8")):
        with pytest.raises(ApiError, match='fulfilled on ConfigMap "one"') as refused:
            check_preconditions(call(), obj, chosen)
        assert refused.value.code == 409
