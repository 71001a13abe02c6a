"""`status.volumeStatus` of an instance: one list that its controller and its node both write."""

from collections.abc import Iterable

from ingot.api.object import Object


def merged(old: Iterable[Object], updates: Iterable[Object]) -> list[Object]:
    """The entries with `updates` in them, found by name; both are left as they are.

    An update changes the fields that it has: None takes one away, all others stay as somebody else wrote them. An entry
    that is new has its name and `target`, which the schema wants.
    """
    entries = {entry["name"]: dict(entry) for entry in old}
    for update in updates:
        entry = entries.setdefault(update["name"], {"name": update["name"], "target": ""})
        entry.update(update)
        entries[update["name"]] = {field: value for field, value in entry.items() if value is not None}
    return list(entries.values())
