"""What a body or a patch's result says it is: completed where it says nothing, refused where it is another."""

from typing import Any

import pytest

from ingot.api.status import ApiError
from ingot.standalone.access.user import User
from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.objects.call import Call
from ingot.standalone.objects.identity import patched, read
from ingot.standalone.resources.definition import Definition, Version
from ingot.standalone.resources.served import Served

JSON = "application/json"
CONFIG_MAPS = next(definition for definition in DEFINITIONS if definition.key == "configmaps")
GADGETS = Definition(
    "wire.test", "Gadget", "gadgets", "gadget", True, {"v1": Version("v1", {"type": "object"})}, "v1", custom=True
)


def call(definition: Definition) -> Call:
    return Call(Served(definition, definition.versions["v1"]), "create", "default", "", "", User("somebody"), {})


@pytest.mark.parametrize("raw", [b"{}", b"null", b'{"kind":""}', b'{"apiVersion":"v1"}'])
def test_a_kind_of_kubernetes_need_not_say_what_it_is(raw: bytes) -> None:
    assert read(call(CONFIG_MAPS), raw, JSON).value == {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", r"must be of type ConfigMap\): couldn't get version/kind; .* \(<empty>\)"),
        (b"[]", r"cannot unmarshal array into Go value of type struct .* \(5b5d\)"),
        (b'{"kind":1}', r"cannot unmarshal number into Go struct field \.kind of type string \(\{\"kind\":1\}\)"),
        (b'{"apiVersion":"a/b/c"}', "unexpected GroupVersion string: a/b/c"),
        (b'{"kind":"Secret"}', r'Secret in version "v1" cannot be handled as a ConfigMap: converting \(v1.Secret\)'),
        (b'{"kind":"Poem"}', 'no kind "Poem" is registered for version "v1"'),
    ],
)
def test_what_is_no_object_of_the_kind_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(ApiError, match=message) as refused:
        read(call(CONFIG_MAPS), raw, JSON)
    assert refused.value.code == 400


@pytest.mark.parametrize(
    ("raw", "code", "message"),
    [
        (b"{}", 400, "Object 'Kind' is missing in '{}'"),
        (b'{"kind":"Gadget"}', 400, "the API version in the data () does not match the expected API version"),
        (b'{"kind":"Widget","apiVersion":"wire.test/v1"}', 422, 'kind: Invalid value: "Widget": must be Gadget'),
    ],
)
def test_a_custom_kind_says_what_it_is(raw: bytes, code: int, message: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(call(GADGETS), raw, JSON)
    assert refused.value.code == code
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"kind": "ConfigMap", "apiVersion": "v1"}, ""),
        ({}, ""),
        ({"kind": "Secret", "apiVersion": "v1"}, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"),
        ({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_a_patch_leaves_a_kind_of_kubernetes_as_it_is(value: Any, fault: str) -> None:
    assert patched(call(CONFIG_MAPS), value) == fault


def test_a_patch_leaves_a_custom_kind_as_it_is() -> None:
    good = {"kind": "Gadget", "apiVersion": "wire.test/v1", "metadata": {"name": "one"}}
    assert patched(call(GADGETS), good) == ""
    assert patched(call(GADGETS), {"metadata": {}}) == """Object 'Kind' is missing in '{"metadata":{}}'"""
    with pytest.raises(ApiError) as refused:
        patched(call(GADGETS), {**good, "kind": "Widget", "apiVersion": "v2"})
    assert refused.value.message == (
        'Widget "one" is invalid: [kind: Invalid value: "Widget": must be Gadget, '
        'apiVersion: Invalid value: "v2": must be wire.test/v1]'
    )
