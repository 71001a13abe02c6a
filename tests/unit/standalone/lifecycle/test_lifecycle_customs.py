"""Definitions of others: what one machine cannot do for them is refused, not pretended."""

from typing import Any, cast

import pytest

from ingot.api import csi, registry
from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.lifecycle.customs import refuse_webhook
from ingot.standalone.objects.call import Call
from ingot.standalone.schema.custom import check_crd, default_crd

CALL = cast(Call, None)


def definition(strategy: str, versions: int, group: str = "example.io") -> dict[str, Any]:
    return {
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Thing"},
            "versions": [{"name": f"v{number}"} for number in range(versions)],
            "conversion": {"strategy": strategy},
        },
    }


def test_a_webhook_that_would_have_to_convert_is_refused() -> None:
    with pytest.raises(ApiError, match=r"spec\.conversion\.strategy: Webhook works on a cluster only"):
        refuse_webhook(CALL, definition("Webhook", 2), None)


@pytest.mark.parametrize(("strategy", "versions"), [("None", 2), ("Webhook", 1)])
def test_what_needs_no_webhook_is_accepted(strategy: str, versions: int) -> None:
    refuse_webhook(CALL, definition(strategy, versions), None)


@pytest.mark.parametrize("crd", csi.crds(), ids=lambda crd: crd["spec"]["names"]["kind"])
def test_what_storage_brings_would_be_accepted_by_a_cluster(crd: Object) -> None:
    default_crd(crd)
    assert check_crd(crd) == []


def test_our_own_definitions_are_accepted_as_a_cluster_has_them() -> None:
    for crd in registry.crds():
        refuse_webhook(CALL, crd, None)
