"""DeleteOptions: how a deletion is to be done, and of which object only."""

from dataclasses import dataclass
from typing import Any

from ingot.api.object import Object, name_of
from ingot.api.status import ApiError, conflict, invalid
from ingot.standalone import fields
from ingot.standalone.builtin import schemas
from ingot.standalone.builtin.decode import read_error
from ingot.standalone.goprint import strings
from ingot.standalone.objects import identity
from ingot.standalone.objects.body import Unreadable, decode
from ingot.standalone.objects.call import Call, flag, whole

POLICIES = ("Foreground", "Background", "Orphan")
KIND = "DeleteOptions"
SCHEMA = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


@dataclass(frozen=True, slots=True)
class Options:
    """What DeleteOptions say, from the body or the query. `uid` and `revision` are preconditions."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


def read(call: Call, raw: bytes, media: str) -> Options:
    """The options of a request: those of its body, or of its query where it has none."""
    if not raw:
        return options(_from_query(call))
    try:
        given = decode(raw, media).value
    except Unreadable as error:
        raise _unread(f"couldn't get version/kind; json parse error: {error.fault}") from error
    if given is None:
        given = {}
    if fault := identity.names_fault(given) or _kind_fault(given) or read_error(schemas.resolved(SCHEMA), given):
        raise _unread(fault)
    return options(given)


def _kind_fault(given: Object) -> str:
    """Options of every version are the same; nothing else will do."""
    kind = given.get("kind") or KIND
    return "" if kind == KIND else identity.unregistered(kind, given.get("apiVersion") or "v1")


def _unread(why: str) -> ApiError:
    """A body that cannot be read is, here only, an error of the server's own to kube-apiserver."""
    return ApiError(500, "", why)


def _from_query(call: Call) -> Object:
    query = call.query
    given: Object = {}
    if "propagationPolicy" in query:
        given["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        given["orphanDependents"] = flag(query, "orphanDependents")
    if "gracePeriodSeconds" in query:
        given["gracePeriodSeconds"] = whole(query["gracePeriodSeconds"])
    if "dryRun" in query:
        given["dryRun"] = [query["dryRun"]]
    return given


def options(given: Object) -> Options:
    """Raises 422 for options that nobody knows or that exclude each other."""
    policy, orphan = given.get("propagationPolicy"), given.get("orphanDependents")
    dry_run = given.get("dryRun") or []
    causes = []
    if policy is not None and orphan is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(fields.invalid("propagationPolicy", policy, why))
    elif policy is not None and policy not in POLICIES:
        causes.append(fields.not_supported("propagationPolicy", policy, (*POLICIES, "nil")))
    if any(value != "All" for value in dry_run):
        causes.append(fields.not_supported("dryRun", strings(dry_run), ("All",)))
    if causes:
        raise invalid("meta.k8s.io", KIND, "", causes)
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan else "Background"
    before: Any = given.get("preconditions") or {}
    grace = given.get("gracePeriodSeconds")
    return Options(
        # Less than nothing is, by Kubernetes' word, a second.
        1 if grace is not None and grace < 0 else grace,
        policy or "",
        before.get("uid") or "",
        before.get("resourceVersion") or "",
        bool(dry_run),
    )


def check_preconditions(call: Call, obj: Object, chosen: Options) -> None:
    """Raises 409 where the object is not the one that is to go."""
    definition, meta = call.served.definition, obj["metadata"]
    target = (definition.group, definition.kind, name_of(obj))
    if chosen.uid and chosen.uid != meta["uid"]:
        raise conflict(
            *target,
            f"the UID in the precondition ({chosen.uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated",
        )
    if chosen.revision and chosen.revision != meta["resourceVersion"]:
        raise conflict(
            *target,
            f"the ResourceVersion in the precondition ({chosen.revision}) does not match the ResourceVersion in "
            f"record ({meta['resourceVersion']}). The object might have been modified",
        )
