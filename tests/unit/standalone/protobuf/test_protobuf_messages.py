"""Messages: how records become fields of the JSON object."""

import pytest
from protobuf_encoder import block, number, varint

from ingot.api.object import Object
from ingot.standalone.protobuf.messages import MAX_DEPTH
from ingot.standalone.protobuf.plans import message
from ingot.standalone.protobuf.wire import WireError

CORE = "io.k8s.api.core.v1"
PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


def read(name: str, content: bytes) -> Object:
    return message(name).read(memoryview(content), 0)


def test_fields_of_unknown_numbers_are_skipped() -> None:
    content = block(900, b"\xff") + block(1, block(1, b"a")) + varint(901 << 3 | 3) + varint(901 << 3 | 4)
    assert read(f"{CORE}.ConfigMap", content) == {"metadata": {"name": "a"}}


def test_empty_plain_fields_vanish_and_pointers_stay() -> None:
    container = block(1, b"") + block(2, b"") + number(16, 0) + block(15, number(4, 0) + number(2, 0))
    # Its name is required, so Go writes it even when it is empty.
    assert read(f"{CORE}.Container", container) == {
        "name": "",
        "securityContext": {"runAsUser": 0, "privileged": False},
    }


def test_the_last_of_two_plain_values_counts() -> None:
    name = "io.k8s.api.coordination.v1.LeaseSpec"
    assert read(name, block(1, b"a") + block(1, b"b")) == {"holderIdentity": "b"}
    assert read(f"{CORE}.NodeSpec", number(4, 1) + number(4, 0)) == {}


def test_a_structure_in_two_parts_is_one() -> None:
    parts = block(1, block(1, b"a")) + block(1, block(3, b"b"))
    assert read(f"{CORE}.ConfigMap", parts) == {"metadata": {"name": "a", "namespace": "b"}}


def test_an_inline_message_is_part_of_the_structure_around_it() -> None:
    volume = block(1, b"scratch") + block(2, block(2, b""))
    assert read(f"{CORE}.Volume", volume) == {"name": "scratch", "emptyDir": {}}


def test_a_map_entry_may_lack_key_and_value() -> None:
    assert read(f"{CORE}.ConfigMap", block(2, b"")) == {"data": {"": ""}}
    limits = block(1, block(1, b"cpu"))
    assert read(f"{CORE}.ResourceRequirements", limits) == {"limits": {"cpu": "0"}}


def test_lists_within_maps_are_lists() -> None:
    extra = block(1, b"scopes") + block(2, block(1, b"a") + block(1, b""))
    assert read("io.k8s.api.authentication.v1.UserInfo", block(4, extra)) == {"extra": {"scopes": ["a", ""]}}
    assert read("io.k8s.api.authentication.v1.UserInfo", block(4, block(1, b"x"))) == {"extra": {"x": []}}


def test_numbers_in_a_list_come_one_by_one_or_packed() -> None:
    groups = number(4, 1) + block(4, varint(2) + varint(-3)) + block(4, b"")
    assert read(f"{CORE}.PodSecurityContext", groups) == {"supplementalGroups": [1, 2, -3]}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (number(2, 1), "data"),
        (block(4, b"x"), "immutable"),
        (varint(1 << 3 | 5) + b"1234", "metadata"),
        (varint(2 << 3 | 3) + varint(2 << 3 | 4), "data"),
    ],
)
def test_a_field_of_another_wire_type_is_refused(content: bytes, field: str) -> None:
    with pytest.raises(WireError, match=f"wrong wireType = . for field {field}"):
        read(f"{CORE}.ConfigMap", content)


def nested(levels: int, field: int) -> bytes:
    content = block(5, b"string")
    for _ in range(levels):
        content = block(field, content)
    return content


def test_schemas_nest_as_deep_as_honest_ones_do_and_no_deeper() -> None:
    obj = read(PROPS, nested(MAX_DEPTH, 28))
    for _ in range(MAX_DEPTH):
        obj = obj["not"]
    assert obj == {"type": "string"}
    for levels in (MAX_DEPTH + 1, 20_000):
        for field in (25, 28):
            with pytest.raises(WireError, match=f"deeper than {MAX_DEPTH}"):
                read(PROPS, nested(levels, field))
