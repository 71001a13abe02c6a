"""Which volume suits a claim."""

from typing import Any

import pytest

from ingot.api.object import Object
from ingot.standalone.volumes.match import find, mismatch
from machine.machine_support import a_claim, a_node, a_volume


def claim(**spec: Any) -> Object:
    made = a_claim("ns", "c", **{"storageClassName": "", **spec})
    made["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    return made


def free(name: str, size: str = "1Gi", **spec: Any) -> Object:
    return {**a_volume(name, size, **spec), "status": {"phase": "Available"}}


def found(wanted: Object, *volumes: Object, **options: Any) -> str | None:
    volume = find(wanted, volumes, **options)
    return volume["metadata"]["name"] if volume else None


def test_the_smallest_that_fits() -> None:
    assert found(claim(size="2Gi"), free("s", "1Gi"), free("l", "10Gi"), free("m", "3Gi")) == "m"
    assert found(claim(size="20Gi"), free("l", "10Gi")) is None


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"storageClassName": "x"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadWriteMany"]}, "incompatible accessMode"),
        ({"size": "2Gi"}, "requested PV is too small"),
        ({}, ""),
    ],
)
def test_why_a_volume_does_not_suit(spec: Object, why: str) -> None:
    assert mismatch(free("v"), claim(**spec)) == why
    assert found(claim(**spec), free("v")) == (None if why else "v")


def test_a_volume_that_is_meant_for_the_claim_comes_before_a_smaller_one() -> None:
    reserved = free("r", "5Gi", claimRef={"namespace": "ns", "name": "c"})
    assert found(claim(), free("s"), reserved) == "r"
    assert found(claim(), free("s"), reserved, reserved_only=True) == "r"
    assert found(claim(), free("s"), reserved_only=True) is None
    other = free("o", claimRef={"namespace": "ns", "name": "c", "uid": "another"})
    assert found(claim(), other) is None


@pytest.mark.parametrize("field", ["dataSource", "dataSourceRef"])
def test_a_claim_with_a_source_takes_no_volume_but_one_that_is_meant_for_it(field: str) -> None:
    wanted = claim(**{field: {"kind": "VolumeImportSource", "apiGroup": "cdi.kubevirt.io", "name": "s"}})
    assert found(wanted, free("v")) is None
    assert found(wanted, free("v"), node=a_node("n")) is None
    assert found(wanted, free("v"), free("r", claimRef={"namespace": "ns", "name": "c", "uid": "u"})) == "r"


def test_labels_are_asked_for() -> None:
    fast = free("fast", "9Gi")
    fast["metadata"]["labels"] = {"speed": "fast"}
    assert found(claim(selector={"matchLabels": {"speed": "fast"}}), free("slow"), fast) == "fast"


def test_only_what_is_available_and_within_reach() -> None:
    gone = free("gone")
    gone["metadata"]["deletionTimestamp"] = "now"
    assert found(claim(), gone, {**free("p"), "status": {"phase": "Released"}}) is None
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n"]}]}]
    near = free("near", nodeAffinity={"required": {"nodeSelectorTerms": terms}})
    assert found(claim(), near, node=a_node("n")) == "near"
    assert found(claim(), near, node=a_node("m")) is None
    assert found(claim(), near, free("b"), node=a_node("n"), without={"near"}) == "b"
