"""What every verb works on."""

from collections.abc import Callable
from dataclasses import dataclass

from ingot.api.object import Object
from ingot.api.status import ApiError, forbidden, not_found
from ingot.standalone.builtin.admission import Lookup
from ingot.standalone.jsontext import decode
from ingot.standalone.objects.call import Call
from ingot.standalone.resources.catalog import Catalog
from ingot.standalone.store.store import Store

# Checks that need to know who asks, such as RBAC's own against escalation; raise ApiError to refuse.
Guard = Callable[[Call, Object, Object | None], None]


@dataclass(slots=True)
class World:
    """The objects, the kinds and the guards of one API server; `lookup` is the store as admission sees it."""

    store: Store
    catalog: Catalog
    guards: dict[str, Guard]
    lookup: Lookup

    def guard(self, call: Call, new: Object, old: Object | None) -> None:
        if check := self.guards.get(call.served.definition.key):
            check(call, new, old)

    def check_namespace(self, call: Call, name: str) -> None:
        """Refuses to create an object in a namespace that is not there or on its way out."""
        definition = call.served.definition
        if not definition.namespaced:
            return
        entry = self.store.latest("namespaces", "", call.namespace)
        if entry is None:
            raise not_found("", "namespaces", call.namespace)
        namespace = decode(entry.value)
        if namespace["metadata"].get("deletionTimestamp"):
            raise _terminating(definition.group, definition.plural, name, call.namespace)


def _terminating(group: str, plural: str, name: str, namespace: str) -> ApiError:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    error = forbidden(group, plural, name, why)
    error.details = {
        **(error.details or {}),
        "causes": [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ],
    }
    return error
