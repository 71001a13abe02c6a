"""Objects described."""

import base64
from datetime import UTC, datetime, timedelta

from ingot.api.object import Object
from ingot.cli.portrait import LAST_APPLIED, discreet, portrait, tree


def ago(seconds: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def volume(**more: object) -> Object:
    return {
        "apiVersion": "cdi.kubevirt.io/v1beta1",
        "kind": "DataVolume",
        "metadata": {"name": "fedora", "namespace": "lab", "labels": {"b": "2", "a": "1"}},
        "spec": {"source": {"http": {"url": "http://x"}}, "modes": ["A", "B"], "empty": {}},
        **more,
    }


def test_the_head_says_who_it_is() -> None:
    obj = volume()
    obj["metadata"] |= {
        "creationTimestamp": ago(3600 * 5),
        "ownerReferences": [{"kind": "DataImportCron", "name": "cron"}],
    }
    head = portrait(obj, []).splitlines()
    assert head[0].split() == ["Name:", "fedora"]
    assert head[1].split() == ["Namespace:", "lab"]
    assert head[2].split(maxsplit=1) == ["Kind:", "DataVolume (cdi.kubevirt.io/v1beta1)"]
    assert head[3].endswith("(5h ago)")
    assert [line.split()[-1] for line in head[4:6]] == ["a=1", "b=2"]
    assert any(line.split() == ["Owners:", "DataImportCron/cron"] for line in head)


def test_fields_are_a_tree_with_the_names_of_the_manifest() -> None:
    shown = portrait(volume(), [])
    assert "Spec:\n  source:\n    http:\n      url: http://x\n  modes: A, B\n  empty: {}\n" in shown


def test_items_and_texts_on_several_lines_are_indented() -> None:
    value = {"list": [{"name": "a", "deep": {"x": True}}, {}], "text": "one\ntwo", "none": None, "words": ["a, b"]}
    assert tree(value) == [
        "list:",
        "  - name: a",
        "    deep:",
        "      x: true",
        "  - {}",
        "text:",
        "  one",
        "  two",
        "none: <none>",
        "words:",
        "  - a, b",
    ]


def test_conditions_are_a_table_of_their_own() -> None:
    conditions = [{"type": "Ready", "status": "False", "reason": "Import", "message": "45%"}]
    shown = portrait(volume(status={"phase": "Pending", "conditions": conditions}), [])
    assert "Status:\n  phase: Pending\nConditions:\n  TYPE" in shown
    assert "  Ready   False    <unknown>   Import   45%" in shown


def test_events_are_the_last_thing_told() -> None:
    event = {
        "metadata": {"name": "e"},
        "lastTimestamp": ago(60),
        "type": "Warning",
        "reason": "Failed",
        "count": 3,
        "source": {"component": "importer"},
        "message": "no\nroute",
    }
    last = portrait(volume(), [event]).splitlines()[-1]
    assert last.split() == [last.split()[0], "Warning", "Failed", "3", "importer", "no", "route"]
    assert portrait(volume(), []).endswith("Events:   <none>")


def test_an_object_that_is_being_deleted_says_what_it_waits_for() -> None:
    obj = volume()
    obj["metadata"] |= {"deletionTimestamp": ago(10), "finalizers": ["ingot/hold"]}
    assert "waits for ingot/hold" in portrait(obj, [])


def test_values_of_secrets_are_not_shown() -> None:
    hidden = base64.b64encode(b"hunter2").decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "s", "annotations": {LAST_APPLIED: hidden, "note": "kept"}},
        "data": {"password": hidden},
    }
    shown = portrait(discreet(secret), [])
    assert hidden not in shown
    assert "password: 7 bytes" in shown
    assert "note: kept" in shown
    assert secret["data"] == {"password": hidden}
