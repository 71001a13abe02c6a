import pytest
from patch_samples import LATER, NOW, stored, widget

from ingot.standalone.patch import entries

FIELDS = {"f:spec": {"f:text": {}}}


def raw(manager="m", operation="Update", version="test/v1", time=NOW, **more):
    entry = {"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1"}
    if time:
        entry["time"] = time
    return {**entry, "fieldsV1": FIELDS, **more}


def test_entries_come_back_in_the_order_of_the_wire():
    first = raw("z", "Apply", time="")
    second, third = raw("a"), raw("a", subresource="status")
    fourth, fifth = raw("b"), raw("a", version="test/v2", time=LATER)
    shuffled = [fifth, third, fourth, first, second]
    assert entries.encode(entries.decode(shuffled)) == [first, second, third, fourth, fifth]


def test_an_applier_is_one_manager_in_every_version_and_an_updater_is_not():
    appliers = entries.decode([raw(operation="Apply", version="test/v1"), raw(operation="Apply", version="test/v2")])
    updaters = entries.decode([raw(version="test/v1"), raw(version="test/v2")])
    assert (len(appliers), len(updaters)) == (1, 2)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (raw(operation="Patch"), "operation must be `Apply` or `Update`"),
        (raw(version=""), "apiVersion must not be empty"),
        (raw(fieldsType=""), "missing fieldsType in managed fields entry 0"),
        (raw(fieldsType="FieldsV9"), 'invalid fieldsType "FieldsV9" in managed fields entry 0'),
        (raw(fieldsV1={"nonsense": {}}), "missing colon: nonsense"),
        ("text", "a managed fields entry must be an object"),
    ],
)
def test_malformed_entries_are_refused(entry, message):
    with pytest.raises(ValueError, match=message):
        entries.decode([entry])


def test_times_from_outside_are_brought_to_utc():
    (entry,) = entries.decode([raw(time="2020-01-01T02:00:00+02:00")]).values()
    assert entry.time == "2020-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("sent", "expected"), [([], True), ([{}], True), (None, False), ([{}, {}], False), ([raw()], False)]
)
def test_a_reset_is_an_empty_list_or_one_empty_entry(sent, expected):
    assert entries.is_reset(sent) is expected


def test_managers_as_conflicts_name_them():
    named = [entries.identity("m", operation, "v1", sub) for operation in ("Update", "Apply") for sub in ("", "status")]
    assert [str(who) for who in named] == [
        '"m" using v1',
        '"m" with subresource "status" using v1',
        '"m"',
        '"m" with subresource "status"',
    ]
    # The one with a subresource comes first: its JSON goes on with a comma, that of the other ends with a brace.
    assert sorted(named[:2], key=entries.Identity.order) == [named[1], named[0]]


def test_times_are_kept_when_nothing_else_differs():
    old = stored(widget({"text": "a"}), [raw()])
    new = stored(widget({"text": "a"}), [raw(time=LATER)])
    assert entries.keep_times(new, old) == old


@pytest.mark.parametrize(
    ("spec", "managed"),
    [
        ({"text": "b"}, [raw(time=LATER)]),
        ({"text": "a"}, [raw("n", time=LATER)]),
        ({"text": "a"}, [raw(), raw("n")]),
        ({"text": "a"}, []),
    ],
)
def test_times_are_not_kept_when_anything_else_differs(spec, managed):
    new = stored(widget(spec), managed)
    assert entries.keep_times(new, stored(widget({"text": "a"}), [raw()])) is new
