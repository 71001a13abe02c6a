"""What the CDIConfig wishes for the pods that fill volumes, beside what they have without it."""

from typing import Any

import pytest

from ingot.api.cdi.names import PREALLOCATION
from ingot.api.object import Object
from ingot.control.volumes.wishes import Wishes
from ingot.control.volumes.worker import is_preallocated
from unit.control.population import target

DEFAULT = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}


@pytest.mark.parametrize(
    ("given", "requests", "limits"),
    [
        ({}, {"cpu": "100m", "memory": "128Mi"}, {"memory": "1Gi"}),
        ({"requests": {"memory": "1024Mi"}}, {"cpu": "100m", "memory": "1024Mi"}, {"memory": "1Gi"}),
        ({"requests": {"memory": "2Gi"}}, {"cpu": "100m", "memory": "2Gi"}, {}),
        ({"limits": {"cpu": "50m"}}, {"cpu": "50m", "memory": "128Mi"}, {"memory": "1Gi", "cpu": "50m"}),
        ({"limits": {"cpu": 1}}, {"cpu": "100m", "memory": "128Mi"}, {"memory": "1Gi", "cpu": 1}),
        (
            {"requests": {"memory": "2Gi"}, "limits": {"memory": "3Gi", "cpu": "0.05"}},
            {"cpu": "0.05", "memory": "2Gi"},
            {"memory": "3Gi", "cpu": "0.05"},
        ),
    ],
)
def test_a_default_gives_way_to_what_is_said(given: Any, requests: Any, limits: Any) -> None:
    """A pod that requests more than its limit is refused, and so was every one of the cluster."""
    wishes = Wishes({"podResourceRequirements": given})
    assert wishes.resources(DEFAULT) == {"requests": requests, "limits": limits}


@pytest.mark.parametrize("wished", [False, True])
@pytest.mark.parametrize(
    ("spec", "said", "preallocated"),
    [
        ({}, None, None),
        ({}, "true", True),
        ({}, "false", False),
        ({"preallocation": True}, "false", True),
        ({"preallocation": False}, "true", False),
    ],
)
def test_who_says_nothing_of_preallocation_has_it_as_wished(
    spec: Object, said: str | None, preallocated: bool | None, wished: bool
) -> None:
    claim = target()
    claim["metadata"]["annotations"] = {PREALLOCATION: said} if said else {}
    wishes = Wishes({"preallocation": wished})
    assert is_preallocated(spec, claim, wishes) is (wished if preallocated is None else preallocated)
