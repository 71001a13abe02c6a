"""What tells a prime of what a source says now from one of what it said before."""

from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.volumes.recipe import fits, note, recipe_of


def a_source(uid: str = "one", kind: str = "VolumeCloneSource", origin: str = "", **spec: Any) -> Object:
    told = {names.SOURCE_NAMESPACE: origin} if origin else {}
    return {"kind": kind, "metadata": {"name": "s", "uid": uid, "annotations": told}, "spec": spec}


def test_a_source_that_is_made_again_as_it_was_is_the_same() -> None:
    first, again = a_source(a=1, b={"c": 2, "d": 3}), a_source("two", b={"d": 3, "c": 2}, a=1)
    made: Object = {"metadata": {}}
    note(made, first)
    assert fits(made, again)


@pytest.mark.parametrize(
    "other", [a_source(a=2), a_source(a=1, preallocation=True), a_source(a=1, origin="ns"), a_source(kind="Other", a=1)]
)
def test_one_that_says_anything_else_is_another(other: Object) -> None:
    made: Object = {"metadata": {}}
    note(made, a_source(a=1))
    assert not fits(made, other)
    assert recipe_of(other) != recipe_of(a_source(a=1))


def test_what_does_not_tell_what_it_was_made_from_fits() -> None:
    assert fits({"metadata": {}}, a_source(a=1))
