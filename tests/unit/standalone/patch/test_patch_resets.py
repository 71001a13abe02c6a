import pytest

from ingot.standalone.patch import resets
from ingot.standalone.resources.definition import Definition


def definition(plural="widgets", group="test", subresources=("status", "scale")):
    return Definition(
        group=group,
        kind="Kind",
        plural=plural,
        singular="kind",
        namespaced=True,
        versions={},
        storage_version="v1",
        subresources=frozenset(subresources),
    )


@pytest.mark.parametrize(
    ("kind", "subresource", "expected"),
    [
        (definition(), "", {"f:status": {}}),
        (definition(), "status", {"f:spec": {}}),
        (definition(), "scale", {}),
        (definition(subresources=()), "", {}),
        (definition("namespaces", ""), "finalize", {"f:status": {}}),
        (
            definition("pods", ""),
            "status",
            {"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
        ),
        (definition("deployments", "apps"), "status", {"f:spec": {}, "f:metadata": {"f:labels": {}}}),
    ],
)
def test_what_a_request_cannot_change(kind, subresource, expected):
    assert resets.of(kind, subresource) == expected
