"""The envelope names the kind; anything that is none of a known kind is a bad request."""

import pytest
from protobuf_encoder import block, envelope, number

from ingot.api.status import ApiError
from ingot.standalone.protobuf import decode
from ingot.standalone.protobuf.envelope import MAGIC


def refusal(raw: bytes) -> str:
    with pytest.raises(ApiError) as refused:
        decode(raw)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    return refused.value.message


def test_an_envelope_without_content_is_an_empty_object() -> None:
    raw = MAGIC + block(1, block(1, b"v1") + block(2, b"ConfigMap"))
    assert decode(raw) == {"kind": "ConfigMap", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "empty data"),
        (MAGIC, "empty body"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (MAGIC + b"\x0a\x7f", "unexpected EOF"),
        (MAGIC + number(1, 1), "proto: wrong wireType = 0 for field Unknown.1"),
        (MAGIC + block(2, b""), "Object 'Kind' is missing"),
        (envelope("", "ConfigMap", b""), "Object 'apiVersion' is missing"),
    ],
)
def test_what_is_no_envelope_is_refused(raw: bytes, message: str) -> None:
    assert refusal(raw) == f"the object provided is unrecognized: {message}"


def test_an_unknown_kind_is_named() -> None:
    message = refusal(envelope("example.org/v7", "Poem", b""))
    assert message == 'no kind "Poem" is registered for version "example.org/v7"'


def test_a_kind_of_another_version_is_unknown() -> None:
    assert refusal(envelope("v1", "Role", b"")) == 'no kind "Role" is registered for version "v1"'


def test_faults_of_the_content_tell_the_kind() -> None:
    assert refusal(envelope("v1", "ConfigMap", number(2, 0))) == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field data'
    )
    assert "invalid UTF-8" in refusal(envelope("v1", "ConfigMap", block(1, block(1, b"\xff"))))


@pytest.mark.parametrize("api_version", ["v1", "meta.k8s.io/v1", "rbac.authorization.k8s.io/v1"])
def test_delete_options_belong_to_every_group(api_version: str) -> None:
    content = number(1, 0) + block(2, block(1, b"some-uid")) + number(3, 0) + block(4, b"Orphan") + block(5, b"All")
    assert decode(envelope(api_version, "DeleteOptions", content)) == {
        "kind": "DeleteOptions",
        "apiVersion": api_version,
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "some-uid"},
        "orphanDependents": False,
        "propagationPolicy": "Orphan",
        "dryRun": ["All"],
    }


@pytest.mark.parametrize("api_version", ["policy/v1", "policy/v1beta1"])
def test_an_eviction_holds_its_options(api_version: str) -> None:
    obj = decode(envelope(api_version, "Eviction", block(1, block(1, b"p")) + block(2, number(1, 0))))
    assert obj["metadata"] == {"name": "p"}
    assert obj["deleteOptions"] == {"gracePeriodSeconds": 0}


def test_a_scale_of_zero_has_no_replicas() -> None:
    obj = decode(envelope("autoscaling/v1", "Scale", block(2, number(1, 0)) + block(3, number(1, 0) + block(2, b""))))
    assert obj["spec"] == {}
    assert obj["status"] == {"replicas": 0}
