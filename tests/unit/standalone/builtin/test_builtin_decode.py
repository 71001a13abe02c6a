"""Wrong JSON types, told as kube-apiserver 1.32.13 tells them."""

from typing import Any

import pytest

from ingot.standalone.builtin import decode, schemas

CORE = "io.k8s.api.core.v1"
QUANTITIES = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


def fault(name: str, obj: dict[str, Any]) -> str | None:
    return decode.read_error(schemas.resolved(name), obj)


def unmarshal(word: str, field: str, go_type: str) -> str:
    return f"json: cannot unmarshal {word} into Go struct field {field} of type {go_type}"


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"data": {"a": 1}}, unmarshal("number", "ConfigMap.data", "string")),
        ({"data": [1]}, unmarshal("array", "ConfigMap.data", "map[string]string")),
        ({"metadata": []}, unmarshal("array", "ConfigMap.metadata", "v1.ObjectMeta")),
        ({"metadata": {"labels": {"x": True}}}, unmarshal("bool", "ObjectMeta.metadata.labels", "string")),
        ({"metadata": {"generation": 1.5}}, unmarshal("number 1.5", "ObjectMeta.metadata.generation", "int64")),
        ({"metadata": {"uid": 1}}, unmarshal("number", "ObjectMeta.metadata.uid", "types.UID")),
        (
            {"metadata": {"ownerReferences": [{"controller": "x"}]}},
            unmarshal("string", "OwnerReference.metadata.ownerReferences.controller", "bool"),
        ),
        (
            {"metadata": {"creationTimestamp": 1}},
            unmarshal("number", "ObjectMeta.metadata.creationTimestamp", "string"),
        ),
        ({"binaryData": {"x": 1}}, unmarshal("number", "ConfigMap.binaryData", "[]uint8")),
        ({"binaryData": {"x": "a!"}}, "illegal base64 data at input byte 1"),
        ({"immutable": "x"}, unmarshal("string", "ConfigMap.immutable", "bool")),
    ],
)
def test_config_maps(obj: dict[str, Any], expected: str) -> None:
    assert fault(f"{CORE}.ConfigMap", obj) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("x", unmarshal("string", "Pod.spec", "v1.PodSpec")),
        ({"restartPolicy": 1}, unmarshal("number", "PodSpec.spec.restartPolicy", "v1.RestartPolicy")),
        ({"containers": ["x"]}, unmarshal("string", "PodSpec.spec.containers", "v1.Container")),
        ({"containers": {}}, unmarshal("object", "PodSpec.spec.containers", "[]v1.Container")),
        (
            {"containers": [{"ports": [{"containerPort": 99999999999}]}]},
            unmarshal("number 99999999999", "ContainerPort.spec.containers.ports.containerPort", "int32"),
        ),
        (
            {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]},
            unmarshal("bool", "HTTPGetAction.spec.containers.livenessProbe.httpGet.port", "int32"),
        ),
        (
            {"containers": [{"resources": {"limits": []}}]},
            unmarshal("array", "ResourceRequirements.spec.containers.resources.limits", "v1.ResourceList"),
        ),
        ({"containers": [{"resources": {"limits": {"cpu": "x"}}}]}, QUANTITIES),
        ({"hostNetwork": "x", "containers": [{"resources": {"limits": {"cpu": []}}}]}, QUANTITIES),
    ],
)
def test_pods(spec: Any, expected: str) -> None:
    assert fault(f"{CORE}.Pod", {"spec": spec}) == expected


def test_the_first_mismatch_is_told() -> None:
    wrong = {"spec": {"accessModes": ["ReadWriteOnce", 1, 2], "volumeName": 3}}
    expected = unmarshal("number", "PersistentVolumeClaimSpec.spec.accessModes", "v1.PersistentVolumeAccessMode")
    assert fault(f"{CORE}.PersistentVolumeClaim", wrong) == expected


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a", 0),
        ("aaa", 0),
        ("a===", 1),
        ("=aaa", 0),
        ("aa=a", 2),
        ("aaaa====", 4),
        ("aaa=aaaa", 4),
        ("aaaab=", 5),
        ("YWJj\nYWJj", None),
        ("aa==", None),
    ],
)
def test_base64_faults_are_where_go_sees_them(text: str, at: int | None) -> None:
    expected = None if at is None else f"illegal base64 data at input byte {at}"
    assert fault(f"{CORE}.Secret", {"data": {"x": text}}) == expected


def test_null_and_unknown_fields_are_no_fault() -> None:
    assert fault(f"{CORE}.ConfigMap", {"data": None, "metadata": None, "strange": 1}) is None
    assert fault(f"{CORE}.ConfigMap", {"data": {"a": None}}) is None
