"""Reading: one object, or a list at the newest or an older revision."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ingot.api.object import Object
from ingot.api.status import ApiError, Cause, bad_request, expired, invalid, not_found
from ingot.standalone import fields as faults
from ingot.standalone.goprint import quote
from ingot.standalone.objects import page
from ingot.standalone.objects.call import Call, whole
from ingot.standalone.objects.selectors import Predicate, fields, predicate
from ingot.standalone.resources.definition import Definition
from ingot.standalone.resources.served import Served
from ingot.standalone.store.history import Entry
from ingot.standalone.store.store import Store

ALWAYS_SELECTABLE = ("metadata.name", "metadata.namespace")


@dataclass(slots=True)
class Listing:
    """The entries of one page with what the list's metadata says of it."""

    revision: int
    entries: list[Entry] = field(default_factory=list)
    token: str = ""
    remaining: int | None = None

    def metadata(self) -> Object:
        meta: Object = {"resourceVersion": str(self.revision)}
        if self.token:
            meta["continue"] = self.token
        if self.remaining:
            meta["remainingItemCount"] = self.remaining
        return meta


def get(store: Store, call: Call) -> Entry:
    definition = call.served.definition
    check_revision(store, call.query.get("resourceVersion", ""))
    entry = store.get(definition.key, call.namespace, call.name)
    if entry is None:
        raise not_found(definition.group, definition.plural, call.name)
    return entry


def select(call: Call) -> Predicate | None:
    """The predicate of the call's selectors; 400 for a field that the kind cannot be selected by."""
    query, definition = call.query, call.served.definition
    field_text = query.get("fieldSelector", "")
    for path, _, _ in fields(field_text):
        if not _is_selectable(definition, path):
            raise bad_request(_unsupported(definition, path))
    return predicate(query.get("labelSelector", ""), field_text, definition.selected)


def _is_selectable(definition: Definition, path: str) -> bool:
    if path == "metadata.namespace" and not definition.namespaced:
        # Kinds that name their fields do not name this one; all others take it, and find nothing.
        return not (definition.custom or definition.selectable)
    return path in ALWAYS_SELECTABLE or path in definition.selectable


def _unsupported(definition: Definition, path: str) -> str:
    if definition.custom or definition.selectable:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def check_revision(store: Store, text: str) -> int:
    """The revision that a query names, 0 for none; refuses text and revisions that are yet to come."""
    if text and not text.isdigit():
        why = f"strconv.ParseUint: parsing {quote(text)}: invalid syntax"
        raise ApiError(500, "", str(faults.invalid("resourceVersion", text, why)))
    revision = int(text or 0)
    if revision > store.revision:
        raise ApiError(
            504,
            "Timeout",
            f"Timeout: Too large resource version: {revision}, current: {store.revision}",
            {
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        )
    return revision


def list_entries(store: Store, call: Call) -> Listing:
    """One page of the list that the call asks for."""
    query, definition = call.query, call.served.definition
    limit = whole(query.get("limit", ""))
    matches = select(call)
    _check_options(query)
    if text := query.get("continue", ""):
        if query.get("resourceVersion", "") not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        token = page.decode(text)
        if token.revision < store.history.floor or token.revision > store.revision:
            raise page.too_old()
        entries = _at(store, definition, token.revision, call.namespace)
        rest = (entry for entry in entries if (entry.namespace, entry.name) > (token.namespace, token.name))
        return _page(call.served, rest, matches, limit, token.revision)
    revision = check_revision(store, query.get("resourceVersion", ""))
    if query.get("resourceVersionMatch") == "Exact" or (revision and limit and not query.get("resourceVersionMatch")):
        if revision < store.history.floor:
            raise expired("The resourceVersion for the provided list is too old.")
        return _page(call.served, _at(store, definition, revision, call.namespace), matches, limit, revision)
    entries = store.collection(definition.key).within(call.namespace)
    return _page(call.served, entries, matches, limit, store.revision)


def _check_options(query: Mapping[str, str]) -> None:
    """Refuses options that do not belong together or to a list, with every reason."""
    revision, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    causes = _match_faults(revision, match, query.get("continue", "")) if match else []
    if "sendInitialEvents" in query:
        causes.append(faults.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)


def _match_faults(revision: str, match: str, token: str) -> list[Cause]:
    causes = []
    if not revision:
        causes.append(forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if token:
        causes.append(forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        causes.append(faults.not_supported("resourceVersionMatch", match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and revision == "0":
        causes.append(forbidden_match('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    return causes


def forbidden_match(why: str) -> Cause:
    return faults.forbidden("resourceVersionMatch", why)


def _at(store: Store, definition: Definition, revision: int, namespace: str) -> Iterable[Entry]:
    if revision == store.revision:
        return store.collection(definition.key).within(namespace)
    entries = (entry for entry in store.at(definition.key, revision) if namespace in ("", entry.namespace))
    return sorted(entries, key=lambda entry: (entry.namespace, entry.name))


def _page(served: Served, entries: Iterable[Entry], matches: Predicate | None, limit: int, revision: int) -> Listing:
    wanted = entries if matches is None else _matching(served, entries, matches)
    listing = Listing(revision)
    if limit <= 0:
        listing.entries = list(wanted)
        return listing
    iterator: Iterator[Entry] = iter(wanted)
    for entry in iterator:
        if len(listing.entries) == limit:
            last = listing.entries[-1]
            listing.token = page.Token(revision, last.namespace, last.name).encode()
            # Counting costs nothing where no selector has to look at what is left.
            listing.remaining = 1 + sum(1 for _ in iterator) if matches is None else None
            break
        listing.entries.append(entry)
    return listing


def _matching(served: Served, entries: Iterable[Entry], matches: Callable[[Object], bool]) -> Iterator[Entry]:
    return (entry for entry in entries if matches(served.read(entry)))
