"""The claim of a DataVolume's name, where that is there before."""

import pytest

from ingot.api.cdi import destination
from ingot.api.cdi.names import ADOPT, POPULATED_FOR
from ingot.api.object import Object
from ingot.api.status import ApiError


def volume(**annotations: str) -> Object:
    return {"metadata": {"name": "disk", "annotations": annotations}}


def claim(holder: Object | None = None, **annotations: str) -> Object:
    owners = [{"controller": True, "name": "disk", "uid": "1", **holder}] if holder else []
    return {"metadata": {"name": "disk", "annotations": annotations, "ownerReferences": owners}}


DATA_VOLUME = {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume"}


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (volume(), None),
        (volume(), claim(**{POPULATED_FOR: "disk"})),
        (volume(), claim(DATA_VOLUME)),
        (volume(**{ADOPT: "true"}), claim()),
    ],
)
def test_what_may_be_there(made: Object, found: Object | None) -> None:
    destination.check(made, found, "here")


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (volume(), claim()),
        (volume(**{ADOPT: "false"}), claim()),
        (volume(), claim(**{POPULATED_FOR: "other"})),
        (volume(), claim({**DATA_VOLUME, "controller": False})),
        (volume(), claim({"apiVersion": "example.com/v1", "kind": "DataVolume"})),
        (volume(), claim({"apiVersion": "apps/v1", "kind": "StatefulSet"})),
    ],
)
def test_what_may_not(made: Object, found: Object) -> None:
    with pytest.raises(ApiError, match="Destination PVC here/disk already exists: ") as caught:
        destination.check(made, found, "here")
    assert caught.value.code == 422
