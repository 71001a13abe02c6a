"""The right to clone what lies in another namespace: `create` on `datavolumes/source` there (G10).

It is asked of whoever writes a DataVolume, a machine with DataVolume templates, or a DataSource: its name stands in
for what it leads to, which may be moved after a volume that names it was allowed. What it stood for when the clone was
begun is noted in the DataVolume's status, and is cloned: so it is asked of whoever writes that, too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ingot.api.demand import Asking, Demand
from ingot.api.kubevirt.parts import as_object, objects
from ingot.api.lookup import Lookup
from ingot.api.object import Object
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS

VERB, SUBRESOURCE = "create", "source"

_OF_KINDS: Final = {VOLUME_CLAIMS.kind: VOLUME_CLAIMS.plural, SNAPSHOTS.kind: SNAPSHOTS.plural}
_PLURALS: Final = {"pvc": VOLUME_CLAIMS.plural, "snapshot": SNAPSHOTS.plural, "dataSource": DATA_SOURCES.plural}
# A DataSource may follow another one, which must not follow a third.
_MOST_LINKS: Final = 2


@dataclass(frozen=True, slots=True)
class _Source:
    """What is cloned, and the field that says so: a claim, a snapshot, or a DataSource that leads to one."""

    field: str
    plural: str
    namespace: str
    name: str

    @property
    def place(self) -> tuple[str, str, str]:
        return self.plural, self.namespace, self.name


def of_volume(new: Object, old: Object | None, namespace: str) -> Asking:
    """What a DataVolume in `namespace` demands, beyond what `old` has just so."""
    wanted, before = ((*_volume(each, namespace), *_noted(each)) for each in (new, old or {}))
    return (yield from _beyond(wanted, before, namespace))


def of_machine(new: Object, old: Object | None, namespace: str) -> Asking:
    """What the DataVolume templates of a machine in `namespace` demand, beyond what `old` has just so."""
    return (yield from _beyond(_templates(new, namespace), _templates(old or {}, namespace), namespace))


def of_data_source(new: Object, old: Object | None, namespace: str) -> Asking:
    """What a DataSource in `namespace` demands, beyond what `old` has just so."""
    return (yield from _beyond(_link(new, "spec.source"), _link(old or {}, "spec.source"), namespace))


def _beyond(new: Iterable[_Source], old: Iterable[_Source], namespace: str) -> Asking:
    known = {source.place for source in old}
    demands = []
    for source in new:
        if source.place not in known:
            way = yield from _way(source)
            if way[-1].namespace != namespace:
                # What that leads to is not for everybody to know, nor whether it is there.
                named = next(each for each in way if each.namespace != namespace)
                demands.append(_demand(named, way[-1]))
    return demands


def _way(source: _Source) -> Lookup[list[_Source]]:
    """The source and what it leads to: up to the claim or snapshot, or the last DataSource, which leads nowhere yet."""
    way = [source]
    for _ in range(_MOST_LINKS):
        if way[-1].plural != DATA_SOURCES.plural:
            break
        found = yield DATA_SOURCES, way[-1].namespace, way[-1].name
        ahead = next(_link(found or {}, source.field), None)
        if ahead is None:
            break
        way.append(replace(ahead, field=source.field))
    return way


def _demand(named: _Source, source: _Source) -> Demand:
    """The right to clone the source, in words that tell of nothing beyond what is `named` by who asks, or by a
    DataSource of the same namespace."""
    # Nobody knows yet where a DataSource will lead to that leads nowhere: the whole namespace must be open.
    name = "" if source.plural == DATA_SOURCES.plural else source.name
    is_link = named.plural == DATA_SOURCES.plural
    return Demand(
        what=f'{named.field} clones {named.plural} "{named.name}" of another namespace',
        instead="a source in the same namespace",
        verb=VERB,
        group=DATA_VOLUMES.group,
        resource=DATA_VOLUMES.plural,
        subresource=SUBRESOURCE,
        namespace=source.namespace,
        name=name,
        place=f'the namespace "{named.namespace}" and in that of what it leads to' if is_link else "",
    )


def _volume(obj: Object, namespace: str, path: str = "spec") -> Iterator[_Source]:
    spec = as_object(obj.get("spec"))
    yield from _named(as_object(spec.get("source")), f"{path}.source")
    reference = as_object(spec.get("sourceRef"))
    if reference:
        there = str(reference.get("namespace") or namespace)
        yield _Source(f"{path}.sourceRef", DATA_SOURCES.plural, there, str(reference.get("name", "")))


def _noted(volume: Object) -> Iterator[_Source]:
    origin = as_object(as_object(volume.get("status")).get("origin"))
    plural = _OF_KINDS.get(str(origin.get("kind", "")))
    if plural:
        yield _Source("status.origin", plural, str(origin.get("namespace", "")), str(origin.get("name", "")))


def _templates(machine: Object, namespace: str) -> Iterator[_Source]:
    spec = as_object(machine.get("spec"))
    for number, template in enumerate(objects(spec.get("dataVolumeTemplates"))):
        yield from _volume(template, namespace, f"spec.dataVolumeTemplates[{number}].spec")


def _link(data_source: Object, path: str) -> Iterator[_Source]:
    return _named(as_object(as_object(data_source.get("spec")).get("source")), path)


def _named(source: Object, path: str) -> Iterator[_Source]:
    for key, plural in _PLURALS.items():
        named = as_object(source.get(key))
        if named:
            yield _Source(f"{path}.{key}", plural, str(named.get("namespace", "")), str(named.get("name", "")))
