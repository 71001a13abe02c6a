"""Managed fields of the scale subresource: those of the object's own replicas field, seen as fields of a Scale."""

from collections.abc import Mapping

from ingot.api.object import Object
from ingot.standalone.patch import entries, fieldset
from ingot.standalone.patch.entries import Entry, Managed

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = fieldset.fields("spec", "replicas")


def to_scale(managed: list[Object], replicas: Mapping[str, fieldset.Path]) -> list[Object]:
    """The managedFields of the Scale. `replicas` has the path of the field in each apiVersion that has a scale."""
    out: Managed = {}
    for who, entry in entries.decode(managed, trusted=True).items():
        path = replicas.get(entry.version)
        if path and fieldset.has(entry.fields, path):
            out[who] = Entry(who, SCALE_VERSION, fieldset.of(_REPLICAS), entry.time)
    return entries.encode(out)


def to_parent(
    managed: list[Object], scale: list[Object], api_version: str, replicas: Mapping[str, fieldset.Path]
) -> list[Object]:
    """The managedFields of the object after its Scale was written with managedFields `scale`.

    `api_version` is the object's, in which a new owner of the field is recorded.
    """
    out: Managed = {}
    owners = entries.decode(scale, trusted=True)
    for who, entry in entries.decode(managed, trusted=True).items():
        path = replicas.get(entry.version)
        if path is None or not fieldset.has(entry.fields, path) or owners.pop(who, None) is not None:
            out[who] = entry
        elif rest := fieldset.difference(entry.fields, fieldset.of(path)):
            out[who] = entry.having(rest)
    for who, entry in owners.items():
        if fieldset.has(entry.fields, _REPLICAS):
            out[who] = Entry(who, api_version, fieldset.of(replicas[api_version]), entry.time)
    return entries.encode(out)
