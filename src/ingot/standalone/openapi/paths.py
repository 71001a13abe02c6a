"""The paths of a kind: what can be done where, and with which parameters."""

from functools import cache

from ingot.api.object import Object
from ingot.standalone.openapi.components import (
    DELETE_OPTIONS,
    PATCH,
    STATUS,
    SUBRESOURCES,
    reference,
    schema_name,
)
from ingot.standalone.resources.definition import Definition, Version

_FORMS = ("application/json", "application/yaml")
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)
_PARAMETERS: dict[str, tuple[str, str]] = {
    "allowWatchBookmarks": ("boolean", "Whether a watch tells how far it has come when nothing happens."),
    "continue": ("string", "Where the page before ended."),
    "dryRun": ("string", "With All, nothing is stored."),
    "fieldManager": ("string", "Who makes the change, in the managed fields."),
    "fieldSelector": ("string", "Which fields the objects must have."),
    "fieldValidation": ("string", "What becomes of unknown and duplicate fields: Ignore, Warn or Strict."),
    "force": ("boolean", "Whether an apply takes fields from their managers."),
    "gracePeriodSeconds": ("integer", "How long the object may take to go."),
    "labelSelector": ("string", "Which labels the objects must have."),
    "limit": ("integer", "How many objects a page has at most."),
    "name": ("string", "The object's name."),
    "namespace": ("string", "The object's namespace."),
    "propagationPolicy": ("string", "What becomes of dependents: Orphan, Background or Foreground."),
    "resourceVersion": ("string", "How new the answer must be."),
    "resourceVersionMatch": ("string", "How resourceVersion is meant: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "Whether a watch begins with what is there."),
    "timeoutSeconds": ("integer", "How long a list or watch may take."),
    "watch": ("boolean", "Whether changes are told as they happen."),
}
_LIST = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_DELETE = ("dryRun", "gracePeriodSeconds", "propagationPolicy")
# By verb: the method, Kubernetes' word for the action, and the parameters in the query.
_COLLECTION = {
    "list": ("get", "list", _LIST),
    "create": ("post", "post", _WRITE),
    "deletecollection": ("delete", "deletecollection", (*_LIST[1:8], *_DELETE)),
}
_OBJECT = {
    "get": ("get", "get", ()),
    "update": ("put", "put", _WRITE),
    "patch": ("patch", "patch", (*_WRITE, "force")),
    "delete": ("delete", "delete", _DELETE),
}
_SUBRESOURCE_VERBS = {
    "binding": ("create",),
    "eviction": ("create",),
    "finalize": ("update",),
    "scale": ("get", "patch", "update"),
    "status": ("get", "patch", "update"),
    "token": ("create",),
}


class _Kind:
    """One kind in one version, on its way into a document."""

    def __init__(self, definition: Definition, version: Version) -> None:
        self.definition = definition
        self.version = version
        self.name = schema_name(definition, version)
        self.named = {"group": definition.group, "version": version.name, "kind": definition.kind}
        group = definition.group.removesuffix(".k8s.io").title().replace(".", "") or "Core"
        self.title = group + version.name.title()

    def operation(self, verb: str, subresource: str, everywhere: bool = False) -> tuple[str, Object]:
        """The method of an operation, and what OpenAPI says of it."""
        collection = not subresource and verb in _COLLECTION
        method, action, parameters = _COLLECTION[verb] if collection or verb == "create" else _OBJECT[verb]
        definition = self.definition
        scope = "Namespaced" if definition.namespaced and not everywhere else ""
        ending = subresource.title() + ("ForAllNamespaces" if everywhere else "")
        made: Object = {
            "tags": [f"{self.title[0].lower()}{self.title[1:]}"],
            "description": f"{verb} {definition.plural}{'/' + subresource if subresource else ''}",
            "operationId": f"{verb}{self.title}{scope}{definition.kind}{ending}",
            "parameters": [_parameter(name, "query") for name in parameters],
            "responses": self._responses(verb, subresource),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self.named,
        }
        if body := self._body(verb, subresource):
            made["requestBody"] = body
        return method, made

    def _schema(self, verb: str, subresource: str) -> Object:
        if subresource in SUBRESOURCES:
            return reference(SUBRESOURCES[subresource])
        if verb in ("delete", "deletecollection") and not self.definition.returns_deleted:
            return reference(STATUS)
        return reference(f"{self.name}List" if verb == "list" else self.name)

    def _responses(self, verb: str, subresource: str) -> Object:
        content = {form: {"schema": self._schema(verb, subresource)} for form in _FORMS}
        made: Object = {"200": {"description": "OK", "content": content}}
        if verb in ("create", "update", "patch"):
            made["201"] = {"description": "Created", "content": content}
        made["401"] = {"description": "Unauthorized"}
        return made

    def _body(self, verb: str, subresource: str) -> Object | None:
        if verb in ("create", "update"):
            content = {"*/*": {"schema": self._schema(verb, subresource)}}
            return {"content": content, "required": True}
        if verb == "patch":
            kinds = [kind for kind in _PATCHES if not self.definition.custom or "strategic" not in kind]
            return {"content": {kind: {"schema": reference(PATCH)} for kind in kinds}, "required": True}
        if verb in ("delete", "deletecollection"):
            return {"content": {"*/*": {"schema": reference(DELETE_OPTIONS)}}}
        return None


def paths(definition: Definition, version: Version) -> Object:
    """The paths of one kind in one version."""
    kind = _Kind(definition, version)
    prefix = f"/apis/{definition.group}/{version.name}" if definition.group else f"/api/{version.name}"
    inside = "/namespaces/{namespace}" if definition.namespaced else ""
    root = f"{prefix}{inside}/{definition.plural}"
    verbs = definition.verbs
    made: Object = {
        root: _path(kind, [verb for verb in _COLLECTION if verb in verbs], [], definition.namespaced),
    }
    if one := [verb for verb in _OBJECT if verb in verbs]:
        made[f"{root}/{{name}}"] = _path(kind, one, ["name"], definition.namespaced)
    for name in sorted(definition.subresources):
        if name in _SUBRESOURCE_VERBS and (name != "scale" or version.scale or not definition.custom):
            path = f"{root}/{{name}}/{name}"
            made[path] = _path(kind, list(_SUBRESOURCE_VERBS[name]), ["name"], definition.namespaced, name)
    if definition.namespaced and "list" in verbs:
        method, operation = kind.operation("list", "", everywhere=True)
        made[f"{prefix}/{definition.plural}"] = {method: operation}
    return made


def _path(kind: _Kind, verbs: list[str], names: list[str], namespaced: bool, subresource: str = "") -> Object:
    given = [*names, *(["namespace"] if namespaced else [])]
    made: Object = dict(kind.operation(verb, subresource) for verb in verbs)
    if given:
        made["parameters"] = [_parameter(name, "path") for name in given]
    return made


@cache
def _parameter(name: str, where: str) -> Object:
    kind, description = _PARAMETERS[name]
    made: Object = {"name": name, "in": where, "description": description}
    if where == "path":
        made["required"] = True
    return {**made, "schema": {"type": kind, "uniqueItems": True}}
