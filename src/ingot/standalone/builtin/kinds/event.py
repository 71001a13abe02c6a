"""Event, which two groups serve: the core one, whose form is stored, and events.k8s.io, with newer names.

Both Definitions keep their objects under one storage key. `to_core` and `from_core` turn one form into the other.
"""

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone import fields
from ingot.standalone.builtin import names
from ingot.standalone.builtin.kinds.kind import define
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column
from ingot.standalone.table import age
from ingot.standalone.table.render import NAME

NEW_GROUP = "events.k8s.io"
# Names in events.k8s.io, and in the core group.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_OLD_NAMES = {old: new for new, old in _NAMES.items()}
_SHORT = 128
_NOTE = 1024


def to_core(obj: Object) -> Object:
    """An event of events.k8s.io as one of the core group: a new dictionary on top."""
    made = {_NAMES.get(key, key): value for key, value in obj.items()}
    return {"reportingComponent": "", "reportingInstance": "", **made, "apiVersion": "v1"}


def from_core(obj: Object) -> Object:
    """An event of the core group as one of events.k8s.io: a new dictionary on top."""
    made = {_OLD_NAMES.get(key, key): value for key, value in obj.items()}
    for key in ("reportingController", "reportingInstance"):
        # Only the core group writes them where nobody has said who reports.
        if not made.get(key):
            made.pop(key, None)
    return {**made, "apiVersion": f"{NEW_GROUP}/v1"}


def validate(new: Object, old: Object | None) -> list[Cause]:
    return _common(new, "reportingComponent")


def validate_new(new: Object, old: Object | None) -> list[Cause]:
    """The newer group is stricter: an event never changes but for its series."""
    event = to_core(new)
    causes = _common(event, "reportingController")
    before = to_core(old) if old else {}
    if event.get("series") != before.get("series"):
        causes += _series(event)
    return causes + (_changes(event, before) if old else _complete(event))


def _common(event: Object, controller: str) -> list[Cause]:
    namespace = event["metadata"].get("namespace", "")
    about = event["involvedObject"].get("namespace", "")
    if event.get("eventTime"):
        causes = _fresh(event, controller)
        agree = about or namespace in ("default", "kube-system")
    else:
        causes = []
        agree = namespace == about if about else namespace in ("", "default")
    if not agree:
        causes.insert(0, fields.invalid("involvedObject.namespace", about, "does not match event.namespace"))
    return causes + fields.checked("namespace", namespace, names.subdomain)


def _fresh(event: Object, controller: str) -> list[Cause]:
    """What an event with an exact time must tell beside it."""
    reporter = event.get("reportingComponent", "")
    causes = [] if reporter else [fields.required(controller)]
    causes += fields.checked(controller, reporter, names.qualified)
    for key in ("reportingInstance", "action", "reason"):
        value = event.get(key, "")
        if not value:
            causes.append(fields.required(key))
        if len(value) > _SHORT:
            causes.append(fields.invalid(key, "", f"can have at most {_SHORT} characters"))
    if len(event.get("message", "")) > _NOTE:
        causes.append(fields.invalid("message", "", f"can have at most {_NOTE} characters"))
    return causes


def _series(event: Object) -> list[Cause]:
    series = event.get("series")
    if series is None:
        return []
    causes = [] if series.get("count", 0) >= 2 else [fields.invalid("series.count", "", "should be at least 2")]
    return causes + ([] if series.get("lastObservedTime") else [fields.required("series.lastObservedTime")])


def _complete(event: Object) -> list[Cause]:
    causes = [] if event.get("eventTime") else [fields.required("eventTime")]
    if event.get("type") not in ("Normal", "Warning"):
        causes.append(fields.invalid("type", "", f"has invalid value: {event.get('type', '')}"))
    unset = [key for key in ("firstTimestamp", "lastTimestamp", "count", "source") if event.get(key)]
    return causes + [fields.invalid(key, "", "needs to be unset") for key in unset]


def _changes(event: Object, before: Object) -> list[Cause]:
    frozen = ("reason", "message", "type", "eventTime", "action", "reportingComponent", "reportingInstance")
    causes = [fields.immutable(key, event.get(key)) for key in frozen if event.get(key) != before.get(key)]
    for key in ("involvedObject", "related"):
        if event.get(key) != before.get(key):
            causes.append(fields.immutable(key, nested(event, key, "name")))
    return causes


def _last_seen(obj: Object) -> str:
    if series := obj.get("series"):
        return age.since(series.get("lastObservedTime"))
    return age.since(obj.get("lastTimestamp") or obj.get("firstTimestamp") or obj.get("eventTime"))


def _object(obj: Object) -> str:
    kind, name = nested(obj, "involvedObject", "kind") or "", nested(obj, "involvedObject", "name")
    return f"{kind.lower()}/{name}" if name else kind.lower()


def _source(obj: Object) -> str:
    component = nested(obj, "source", "component") or obj.get("reportingComponent", "")
    instance = nested(obj, "source", "host") or obj.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def _count(obj: Object) -> int:
    if series := obj.get("series"):
        return int(series.get("count", 0))
    return int(obj.get("count") or 1)


_COLUMNS = (
    Column("Last Seen", _last_seen, description="How long ago it last happened."),
    Column("Type", lambda obj: obj.get("type", ""), description="Normal or Warning."),
    Column("Reason", lambda obj: obj.get("reason", ""), description="Why, in one word."),
    Column("Object", _object, description="What it happened to."),
    Column(
        "Subobject",
        lambda obj: nested(obj, "involvedObject", "fieldPath") or "",
        priority=1,
        description="Which part of it.",
    ),
    Column("Source", _source, priority=1, description="Who says so."),
    Column("Message", lambda obj: obj.get("message", "").strip(), description="What happened."),
    Column(
        "First Seen",
        lambda obj: age.since(obj.get("firstTimestamp") or obj.get("eventTime")),
        priority=1,
        description="How long ago it first happened.",
    ),
    Column("Count", _count, priority=1, description="How often it happened."),
    Column("Name", NAME.path, format="name", priority=1, description=NAME.description),
)


def _through_core(column: Column) -> Column:
    path = column.path
    assert callable(path)
    return Column(
        column.name,
        lambda obj: path(to_core(obj)),
        column.type,
        column.format,
        column.description,
        column.priority,
    )


_OF_THE_OBJECT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def _teller(obj: Object) -> str:
    """Who told of the event, in the old way or the new one."""
    return str(nested(obj, "source", "component") or obj.get("reportingComponent") or "")


EVENT = define(
    "io.k8s.api.core.v1.Event",
    "events",
    namespaced=True,
    name_rule=names.path_segment,
    validate=validate,
    columns=_COLUMNS,
    short_names=("ev",),
    selectable=(
        *(f"involvedObject.{key}" for key in _OF_THE_OBJECT),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    selected=(("source", _teller),),
    create_on_update=True,
)

NEW_EVENT = define(
    "io.k8s.api.events.v1.Event",
    "events",
    namespaced=True,
    validate=validate_new,
    columns=tuple(_through_core(column) for column in _COLUMNS),
    short_names=("ev",),
    selectable=(*(f"regarding.{key}" for key in _OF_THE_OBJECT), "reason", "reportingController", "type"),
    create_on_update=True,
    storage_key="events",
    to_stored=to_core,
    from_stored=from_core,
)
