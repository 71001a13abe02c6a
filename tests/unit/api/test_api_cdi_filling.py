"""Which claims have their volume, and not yet their bytes: nobody clones half a disk (G1)."""

import pytest

from ingot.api.cdi import names
from ingot.api.cdi.filling import is_being_filled

PRIME = f"{names.PRIME_PREFIX}0f0f"


@pytest.mark.parametrize(
    ("name", "annotations", "filling"),
    [
        ("disk", {}, False),
        (PRIME, {names.PRIME_FOR: "ns/disk"}, True),
        (PRIME, {}, False),
        ("disk", {names.PRIME_FOR: "ns/disk"}, False),
        ("disk", {names.UPLOAD_TARGET: ""}, True),
        ("disk", {names.UPLOAD_TARGET: "", names.POD_PHASE: "Succeeded"}, False),
        ("disk", {names.UPLOAD_TARGET: "", names.FAILURE: "{}"}, False),
    ],
)
def test_a_claim(name: str, annotations: dict[str, str], filling: bool) -> None:
    claim = {"metadata": {"name": name, "namespace": "ns", "annotations": annotations}, "spec": {"volumeName": "pv"}}
    assert is_being_filled(claim) is filling
