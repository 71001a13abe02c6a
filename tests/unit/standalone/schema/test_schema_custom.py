from datetime import UTC, datetime

import pytest

from ingot.api.object import Object
from ingot.standalone.resources.definition import Definition
from ingot.standalone.schema import Schema, custom

NOW = datetime(2026, 11, 16, 8, 0, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 16, 9, 0, 0, tzinfo=UTC)


def crd_of(plural: str = "disks", kind: str = "Disk", **names: object) -> Object:
    crd = {
        "metadata": {"name": f"{plural}.ex.io"},
        "spec": {
            "group": "ex.io",
            "names": {"plural": plural, "kind": kind, **names},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
                }
            ],
        },
    }
    custom.default_crd(crd)
    return crd


def test_a_definition_gets_the_names_that_it_leaves_out() -> None:
    crd = crd_of()
    assert crd["spec"]["names"] == {"plural": "disks", "kind": "Disk", "singular": "disk", "listKind": "DiskList"}
    assert crd["spec"]["conversion"] == {"strategy": "None"}
    assert crd["status"]["storedVersions"] == ["v1"]


def test_a_webhook_gets_a_port() -> None:
    crd = crd_of()
    service = {"name": "a", "namespace": "b"}
    crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}}
    custom.default_crd(crd)
    assert service["port"] == 443


def test_a_definition_says_everything_about_its_kind() -> None:
    crd = crd_of(shortNames=["dk"], categories=["all"])
    version = crd["spec"]["versions"][0]
    version["subresources"] = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"},
    }
    version["additionalPrinterColumns"] = [
        {"name": "Size", "type": "string", "jsonPath": ".spec.size", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Since when."},
    ]
    version["selectableFields"] = [{"jsonPath": ".spec.size"}]
    definition = custom.definition_of(crd)
    assert (definition.key, definition.kind, definition.list_kind) == ("disks.ex.io", "Disk", "DiskList")
    assert definition.namespaced
    assert definition.custom
    assert definition.has_generation
    assert (definition.short_names, definition.categories) == (("dk",), ("all",))
    assert definition.subresources == {"status", "scale"}
    assert definition.selectable == ("spec.size",)
    served = definition.versions["v1"]
    assert [(column.name, column.path, column.priority) for column in served.columns] == [
        ("Size", ".spec.size", 1),
        ("Age", ".metadata.creationTimestamp", 0),
    ]
    assert served.columns[0].description == "Custom resource definition column (in JSONPath format): .spec.size"
    assert served.scale is not None
    assert served.scale.spec_replicas == ".spec.n"


def test_a_kind_without_columns_shows_its_age() -> None:
    (column,) = custom.definition_of(crd_of()).versions["v1"].columns
    assert (column.name, column.path, column.type) == ("Age", ".metadata.creationTimestamp", "date")


def test_every_kind_has_metadata_whether_its_definition_says_so_or_not() -> None:
    schema = Schema(custom.definition_of(crd_of()).versions["v1"].schema)
    obj = {"apiVersion": "ex.io/v1", "kind": "Disk", "metadata": {"name": "a", "labels": {"b": "c"}, "zz": 1}}
    assert schema.unknown(obj) == ["metadata.zz"]
    assert schema.check(obj) == []


@pytest.mark.parametrize(
    ("names", "deprecated", "warning"),
    [
        (["v1"], "v1", "ex.io/v1 Disk is deprecated"),
        (["v1", "v2"], "v1", "ex.io/v1 Disk is deprecated; use ex.io/v2 Disk"),
        (["v1beta1", "v1", "v2alpha1"], "v1beta1", "ex.io/v1beta1 Disk is deprecated; use ex.io/v1 Disk"),
        (["v1", "v1beta1"], "v1", "ex.io/v1 Disk is deprecated"),
        (["v10", "v9"], "v9", "ex.io/v9 Disk is deprecated; use ex.io/v10 Disk"),
    ],
)
def test_a_deprecated_version_points_to_a_better_one(names: list[str], deprecated: str, warning: str) -> None:
    crd = crd_of()
    first = crd["spec"]["versions"][0]
    crd["spec"]["versions"] = [
        {**first, "name": name, "storage": position == 0, "deprecated": name == deprecated}
        for position, name in enumerate(names)
    ]
    versions = custom.definition_of(crd).versions
    assert versions[deprecated].deprecation_warning == warning
    assert all(not versions[name].deprecated for name in names if name != deprecated)


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"n": -1}, ".spec.n", "Invalid value: -1: should be a non-negative integer"),
        ({"n": 2**31}, ".spec.n", "Invalid value: 2147483648: should be less than or equal to 2147483647"),
        (
            {"n": "x"},
            ".spec.n",
            "Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64",
        ),
        (
            5,
            ".spec.n",
            "Invalid value: 0: .spec.n accessor error: 5 is of the type int64, expected map[string]interface{}",
        ),
    ],
)
def test_replicas_must_be_countable(spec: object, field: str, message: str) -> None:
    crd = crd_of()
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n", "labelSelectorPath": ".status.s"}
    crd["spec"]["versions"][0]["subresources"] = {"scale": scale}
    definition = custom.definition_of(crd)
    (cause,) = definition.validate({"apiVersion": "ex.io/v1", "spec": spec}, None)
    assert (cause.field, cause.message) == (field, message)
    assert definition.validate({"apiVersion": "ex.io/v1", "spec": {"n": 3}, "status": {"s": "a=b"}}, None) == []


def accepted(crd: Object) -> Definition:
    return custom.definition_of(crd)


def conditions(status: Object) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in status["conditions"]}


def test_a_definition_without_rivals_is_established() -> None:
    status = custom.established(crd_of(shortNames=["dk"]), [], NOW)
    assert conditions(status) == {
        "NamesAccepted": ("True", "NoConflicts", "no conflicts found"),
        "Established": ("True", "InitialNamesAccepted", "the initial names have been accepted"),
    }
    assert status["acceptedNames"] == {
        "plural": "disks",
        "singular": "disk",
        "kind": "Disk",
        "listKind": "DiskList",
        "shortNames": ["dk"],
    }
    assert status["storedVersions"] == ["v1"]
    assert {c["lastTransitionTime"] for c in status["conditions"]} == {"2026-11-16T08:00:00Z"}


@pytest.mark.parametrize(
    ("rival", "reason", "message"),
    [
        ({"plural": "others", "kind": "Disk"}, "ListKindConflict", '"DiskList" is already in use'),
        ({"plural": "others", "kind": "DiskList"}, "ListKindConflict", '"DiskList" is already in use'),
        ({"plural": "others", "kind": "Other", "singular": "disk"}, "SingularConflict", '"disk" is already in use'),
        ({"plural": "others", "kind": "Other", "shortNames": ["disks"]}, "PluralConflict", '"disks" is already in use'),
        (
            {"plural": "dk", "kind": "Other", "shortNames": ["d2"]},
            "ShortNamesConflict",
            '["dk" is already in use, "d2" is already in use]',
        ),
    ],
)
def test_a_name_that_is_taken_is_not_accepted(rival: dict[str, object], reason: str, message: str) -> None:
    crd = crd_of(shortNames=["dk", "d2"])
    status = custom.established(crd, [accepted(crd_of(**rival))], NOW)  # type: ignore[arg-type]  # names of any kind
    assert conditions(status) == {
        "NamesAccepted": ("False", reason, message),
        "Established": ("False", "NotAccepted", "not all names are accepted"),
    }


def test_names_in_another_group_are_no_rivals() -> None:
    other = accepted(crd_of())
    other.group = "elsewhere.io"
    assert conditions(custom.established(crd_of(), [other], NOW))["Established"][0] == "True"


def test_what_was_accepted_once_stays_accepted() -> None:
    crd = crd_of()
    crd["status"] = custom.established(crd, [], NOW)
    again = custom.established(crd, [accepted(crd_of())], LATER)
    assert again == crd["status"]


def test_a_conflict_goes_away_with_the_rival() -> None:
    crd = crd_of()
    crd["status"] = custom.established(crd, [accepted(crd_of("others", "Disk"))], NOW)
    status = custom.established(crd, [], LATER)
    assert conditions(status)["Established"][0] == "True"
    assert {c["lastTransitionTime"] for c in status["conditions"]} == {"2026-11-16T09:00:00Z"}


def test_a_new_storage_version_joins_the_stored_ones() -> None:
    crd = crd_of()
    crd["status"] = custom.established(crd, [], NOW)
    crd["spec"]["versions"][0]["name"] = "v2"
    assert custom.established(crd, [], NOW)["storedVersions"] == ["v1", "v2"]


def test_a_definition_on_its_way_out_keeps_the_time_at_which_it_began() -> None:
    crd = crd_of()
    crd["status"] = custom.established(crd, [], NOW)
    crd["status"] = custom.terminating(crd, True, "InstanceDeletionPending", "soon", NOW)
    status = custom.terminating(crd, True, "InstanceDeletionInProgress", "now", LATER)
    assert [condition["type"] for condition in status["conditions"]] == ["NamesAccepted", "Established", "Terminating"]
    going = status["conditions"][-1]
    assert (going["status"], going["reason"], going["message"]) == ("True", "InstanceDeletionInProgress", "now")
    assert going["lastTransitionTime"] == crd["status"]["conditions"][-1]["lastTransitionTime"]


def test_a_change_of_the_storage_version_is_noted_at_once() -> None:
    crd = crd_of()
    before = crd["status"]
    (first,) = crd["spec"]["versions"]
    crd["spec"]["versions"] = [{**first, "storage": False}, {**first, "name": "v2"}]
    custom.note_stored_version(crd)
    assert crd["status"]["storedVersions"] == [first["name"], "v2"]
    assert before["storedVersions"] == [first["name"]]
    kept = crd["status"]
    custom.note_stored_version(crd)
    assert crd["status"] is kept
