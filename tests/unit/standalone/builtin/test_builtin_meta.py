"""What must hold for metadata, in Kubernetes' words."""

from typing import Any

import pytest

from ingot.standalone.builtin import meta, names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
QUALIFIED = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def causes(old: dict[str, Any] | None = None, namespaced: bool = False, **metadata: Any) -> list[str]:
    new = {"metadata": {"name": "x", **metadata}}
    return [str(cause) for cause in meta.validate(new, old and {"metadata": old}, namespaced)]


def test_good_metadata_passes() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    assert not causes(
        namespaced=True,
        namespace="default",
        labels={"a": "b", "example.com/a": ""},
        annotations={"A/b": "anything at all"},
        ownerReferences=[owner],
        finalizers=["kubernetes", "example.com/f"],
        managedFields=[{"operation": "Apply", "fieldsType": "FieldsV1", "manager": "m"}],
    )


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"labels": {"a b": "c"}}, f'metadata.labels: Invalid value: "a b": {QUALIFIED}'),
        ({"namespace": "x"}, "metadata.namespace: Forbidden: not allowed on this type"),
        ({"annotations": {"a": "b" * 300000}}, "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ({"generation": -1}, "metadata.generation: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: '
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
        (
            {"finalizers": ["abc"]},
            'metadata.finalizers[0]: Invalid value: "abc": '
            "name is neither a standard finalizer name nor is it fully qualified",
        ),
        (
            {"managedFields": [{"operation": "Apply", "manager": "a\n"}]},
            'metadata.managedFields[0].manager: Invalid value: "a\\n": invalid character U+000A (at position 1)',
        ),
    ],
)
def test_faults_have_kubernetes_words(metadata: dict[str, Any], expected: str) -> None:
    assert causes(**metadata) == [expected]


def test_each_fault_of_an_owner_is_told() -> None:
    owners = [{"kind": "X", "controller": True}, {"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]
    assert causes(ownerReferences=owners) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": name must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
        'metadata.ownerReferences: Invalid value: "Event/n": /v1, Kind=Event is disallowed from being an owner',
    ]


def test_there_is_one_controller() -> None:
    owners = [{"apiVersion": "v1", "kind": "A", "name": name, "uid": name, "controller": True} for name in "ab"]
    (fault,) = causes(ownerReferences=owners)
    assert 'Found "true" in references for A/a and A/b' in fault


def test_a_custom_resource_may_have_plain_finalizers() -> None:
    assert not meta.validate({"metadata": {"name": "x", "finalizers": ["abc"]}}, None, False, kubernetes=False)


OLD = {"name": "x", "uid": "u", "resourceVersion": "1", "generation": 2}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"uid": "v"}, 'metadata.uid: Invalid value: "v": field is immutable'),
        ({"resourceVersion": ""}, 'metadata.resourceVersion: Invalid value: "": must be specified for an update'),
        ({"generation": 1}, "metadata.generation: Invalid value: 1: must not be decremented"),
    ],
)
def test_an_update_may_not_change_what_the_server_keeps(change: dict[str, Any], expected: str) -> None:
    assert causes(OLD, **{**OLD, **change}) == [expected]


def test_no_finalizer_is_added_to_what_is_on_its_way_out() -> None:
    old = {**OLD, "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": ["a/b"]}
    assert not causes(old, **{**old, "finalizers": []})
    assert causes(old, **{**old, "finalizers": ["a/b", "c/d"]}) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"c/d"}'
    ]


def test_a_name_once_accepted_stays_acceptable() -> None:
    old = {**OLD, "name": "Old_Name"}
    assert not causes(old, **old)


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        (names.label, "a.b", ["must not contain dots"]),
        (names.label, "A", [LABEL]),
        (names.label, "a" * 64, ["must be no more than 63 characters"]),
        (names.path_segment, "..", ["may not be '..'"]),
        (names.path_segment, "a/%", ["may not contain '/'", "may not contain '%'"]),
        (names.port_name, "-A--", ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"]),
        (names.config_key, "..", ["must not be '..'"]),
        (names.environment_variable, "a=b", None),
    ],
)
def test_names(rule: Any, value: str, expected: list[str] | None) -> None:
    found = rule(value)
    assert found if expected is None else found[: len(expected)] == expected


def test_a_prefix_may_end_with_a_dash() -> None:
    assert names.prefix(names.label, "a-") == []
    assert names.prefix(names.label, "-") != []
