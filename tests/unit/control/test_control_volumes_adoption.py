"""Which claims that were there before their DataVolume count as filled (G1)."""

from typing import Any

import pytest

from ingot.api.cdi import names
from ingot.api.object import Object
from ingot.control.volumes.adoption import is_filled

OURS = {"dataSourceRef": {"apiGroup": names.GROUP, "kind": "VolumeImportSource", "name": "source"}}
ADOPTING = {"metadata": {"name": "disk", "uid": "new", "annotations": {names.ADOPT: "true"}}}
RESTORED = {"metadata": {"name": "disk", "uid": "new"}}


def claim(phase: str = "Bound", spec: Object | None = None, **annotations: str) -> Object:
    told = {getattr(names, name): text for name, text in annotations.items()}
    volume = {} if phase == "Pending" else {"volumeName": "pv"}
    return {
        "metadata": {"name": "disk", "annotations": told},
        "spec": {**volume, **(spec or {})},
        "status": {"phase": phase},
    }


@pytest.mark.parametrize(
    ("found", "filled"),
    [
        (claim(), True),
        (claim(spec=OURS, POD_PHASE="Succeeded", CREATED_FOR="old"), True),
        (claim(UPLOAD_TARGET="", POD_PHASE="Succeeded"), True),
        (claim("Pending"), False),
        (claim("Lost"), False),
        (claim("Pending", OURS, CREATED_FOR="old", POD_PHASE="Running"), False),
        (claim("Pending", OURS, CREATED_FOR="old", FAILURE="{}"), False),
        (claim(spec=OURS), False),
        (claim(UPLOAD_TARGET=""), False),
        (claim(UPLOAD_TARGET="", FAILURE="{}"), False),
    ],
)
@pytest.mark.parametrize(("volume", "mark"), [(ADOPTING, {}), (RESTORED, {names.POPULATED_FOR: "disk"})])
def test_a_claim(volume: Object, mark: dict[str, str], found: Object, filled: bool) -> None:
    told: dict[str, Any] = {**found["metadata"], "annotations": {**found["metadata"]["annotations"], **mark}}
    assert is_filled(volume, {**found, "metadata": told}) is filled


def test_a_claim_that_nobody_has_said_anything_of() -> None:
    assert not is_filled(RESTORED, claim())
    assert not is_filled(ADOPTING, claim(CREATED_FOR="new")), "it was made for the DataVolume, which fills it"
