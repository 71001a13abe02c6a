import base64
from typing import Any

import pytest

from ingot.api.resource import Resource
from ingot.api.status import ApiError, not_found
from ingot.standalone.pods.downward import field, resource_field
from ingot.standalone.pods.environment import environment, expanded
from ingot.standalone.pods.fault import PodFault

POD = {
    "metadata": {
        "name": "p",
        "namespace": "n",
        "uid": "u",
        "labels": {"app": "web", "a/b": 'q"'},
        "annotations": {"note": "x"},
    },
    "spec": {
        "nodeName": "here",
        "serviceAccountName": "robot",
        "containers": [{"name": "c", "resources": {"limits": {"memory": "64Mi", "cpu": "1500m"}}}],
    },
}


class Objects:
    """ConfigMaps and Secrets by name, as a client would give them."""

    def __init__(self, **objects: dict[str, Any]) -> None:
        self._objects = objects

    async def get(self, resource: Resource, name: str, namespace: str) -> dict[str, Any]:
        assert namespace == "n"
        if name not in self._objects:
            raise not_found("", resource.plural, name)
        return self._objects[name]


CLIENT: Any = Objects(
    plain={"data": {"one": "1", "two": "2"}, "binaryData": {"raw": base64.b64encode(b"r").decode()}},
    hidden={"data": {"password": base64.b64encode(b"pa$$").decode()}},
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$(A)-$(B)", "1-$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} $(", "$A ${A} $("),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, wanted: str) -> None:
    assert expanded(text, {"A": "1"}) == wanted


async def test_variables_come_from_everywhere_and_later_ones_see_earlier_ones() -> None:
    container = {
        "name": "c",
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "plain"}}, {"secretRef": {"name": "hidden"}}],
        "env": [
            {"name": "X", "value": "$(P_one)$(GIVEN)"},
            {"name": "Y", "valueFrom": {"configMapKeyRef": {"name": "plain", "key": "two"}}},
            {"name": "Z", "valueFrom": {"secretKeyRef": {"name": "hidden", "key": "password"}}},
            {"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "M", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
            {"name": "GONE", "valueFrom": {"configMapKeyRef": {"name": "none", "key": "k", "optional": True}}},
            {"name": "EMPTY"},
        ],
    }
    assert await environment(CLIENT, POD, container, {"GIVEN": "g"}) == {
        "GIVEN": "g",
        "P_one": "1",
        "P_two": "2",
        "P_raw": "r",
        "password": "pa$$",
        "X": "1g",
        "Y": "2",
        "Z": "pa$$",
        "N": "p",
        "M": "64",
        "EMPTY": "",
    }


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, "ConfigMap n/none is not there; create it"),
        ({"secretKeyRef": {"name": "hidden", "key": "k"}}, "env V: Secret 'hidden' has no key 'k'; add it"),
        ({"fieldRef": {"fieldPath": "spec.nonsense"}}, "fieldRef: field 'spec.nonsense' cannot be told"),
    ],
)
async def test_what_is_missing_is_named(reference: dict[str, Any], message: str) -> None:
    with pytest.raises(PodFault) as caught:
        await environment(CLIENT, POD, {"name": "c", "env": [{"name": "V", "valueFrom": reference}]}, {})
    assert caught.value.reason == "CreateContainerConfigError"
    assert message in caught.value.message
    assert not caught.value.final


async def test_a_server_that_fails_is_no_fault_of_the_pod() -> None:
    class Failing:
        async def get(self, *_: object) -> dict[str, Any]:
            raise ApiError(500, "", "no")

    client: Any = Failing()
    with pytest.raises(ApiError):
        await environment(client, POD, {"name": "c", "envFrom": [{"secretRef": {"name": "x"}}]}, {})


def test_fields_of_a_pod() -> None:
    assert field(POD, "metadata.labels['app']") == "web"
    assert field(POD, "metadata.labels") == 'a/b="q\\""\napp="web"'
    assert field(POD, "metadata.annotations['none']") == ""
    assert field(POD, "spec.nodeName") == "here"
    assert field(POD, "status.podIP") == "127.0.0.1"


def test_resources_are_told_in_units_of_the_divisor_rounded_up() -> None:
    container = POD["spec"]["containers"][0]  # type: ignore[index]
    assert resource_field(POD, container, {"resource": "limits.cpu"}) == "2"
    assert resource_field(POD, container, {"resource": "limits.cpu", "divisor": "1m"}) == "1500"
    assert resource_field(POD, container, {"resource": "requests.memory"}) == "0"
    assert int(resource_field(POD, {}, {"containerName": "c", "resource": "limits.ephemeral-storage"})) > 0
    with pytest.raises(PodFault, match="no container 'x'"):
        resource_field(POD, {}, {"containerName": "x", "resource": "limits.cpu"})
