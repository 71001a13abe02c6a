"""What must be there, and what must not, when a DataVolume is made: looked up as by CDI's webhook."""

from ingot.api.cdi import clone_faults, content, destination
from ingot.api.cdi.clone_faults import Origin
from ingot.api.lookup import Lookup
from ingot.api.object import Object, name_of
from ingot.api.resource import Resource
from ingot.api.resources import DATA_SOURCES, DATA_VOLUMES, SNAPSHOTS, VOLUME_CLAIMS
from ingot.api.status import Cause, invalid

# A DataSource may follow another one, which must not follow a third.
_MOST_LINKS = 2
_ORIGINS = {"pvc": VOLUME_CLAIMS, "snapshot": SNAPSHOTS}


def check(volume: Object, namespace: str) -> Lookup[None]:
    """Raises the 422 for a new DataVolume whose claim is another's, whose DataSource leads nowhere, or that does not
    suit what it is to be a clone of. What is cloned may come later.

    One whose claim is there, to be taken as it is, is not filled: its source may be gone.
    """
    # One that is yet to get its name gets one that nothing has.
    name = volume["metadata"].get("name", "")
    claim = (yield VOLUME_CLAIMS, namespace, name) if name else None
    destination.check(volume, claim, namespace)
    if claim is None and (cause := (yield from _cause(volume["spec"], namespace))):
        raise invalid(DATA_VOLUMES.group, DATA_VOLUMES.kind, name_of(volume) if name else "", [cause])


def _cause(spec: Object, namespace: str) -> Lookup[Cause | None]:
    source, field = spec.get("source") or {}, "spec.source"
    if "sourceRef" in spec:
        field = "spec.sourceRef"
        source = yield from _followed(spec["sourceRef"], namespace)
        if isinstance(source, Cause):
            return source
    for kind, resource in _ORIGINS.items():
        if kind not in source:
            continue
        origin = yield from _origin(resource, source[kind]["namespace"], source[kind]["name"])
        if origin is not None and (why := clone_faults.of_volume(spec, origin)):
            return Cause(field if "sourceRef" in spec else f"{field}.{kind}", f"Invalid value: {why}")
    return None


def _origin(kind: Resource, namespace: str, name: str) -> Lookup[Origin | None]:
    """What is cloned, None while it is not there. Of a snapshot that does not tell what it holds, the claim may."""
    found = yield kind, namespace, name
    if found is None:
        return None
    claim = "" if kind == VOLUME_CLAIMS or content.told(found) else content.claim_name(found)
    return Origin(kind, found, (yield VOLUME_CLAIMS, namespace, claim) if claim else None)


def _followed(reference: Object, namespace: str) -> Lookup[Object | Cause]:
    """The source at the end of the DataSources that a sourceRef leads to, or the fault where there is none."""
    there, name = reference.get("namespace") or namespace, reference["name"]
    for _ in range(_MOST_LINKS):
        found = yield DATA_SOURCES, there, name
        shown = f'DataSource "{there}/{name}"'
        if found is None:
            return Cause("spec.sourceRef", f"Not found: {shown} is not there: make it first", "FieldValueNotFound")
        source: Object = found["spec"]["source"]
        if not source:
            why = "points to nothing yet: its spec.source is empty; a pvc or snapshot is expected there"
            return Cause("spec.sourceRef", f"Invalid value: {shown} {why}")
        if "dataSource" not in source:
            return source
        ahead, name = source["dataSource"]["namespace"], source["dataSource"]["name"]
        if ahead != there:
            why = f'{shown} follows DataSource "{ahead}/{name}" of another namespace: one of its own is expected'
            return Cause("spec.sourceRef", f"Invalid value: {why}")
    why = f'DataSource "{there}/{name}" is one too many: at most {_MOST_LINKS} are followed'
    return Cause("spec.sourceRef", f"Invalid value: {why}")
