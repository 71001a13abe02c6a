"""What a URL path names: a resource, an object, a subresource, or none of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from ingot.api.status import ApiError
from ingot.standalone.objects import label_selector
from ingot.standalone.objects.call import whole
from ingot.standalone.objects.selectors import fields
from ingot.standalone.remember import remember

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class Target:
    """The parts of a resource path; `namespace` and `name` are "" where the path has none."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    # The old form of a watch, which has the verb in its path: /api/v1/watch/pods.
    watched: bool = False

    def verb(self, method: str, watch: bool) -> str:
        """The request's verb in RBAC's words."""
        if self.watched:
            return "watch"
        if method == "GET":
            return "get" if self.name else "watch" if watch else "list"
        if method == "DELETE":
            return "delete" if self.name else "deletecollection"
        return VERBS.get(method, method.lower())


def selected_name(query: Mapping[str, str]) -> str:
    """The one name that a list or watch is limited to by its field selector, which RBAC takes for the object's.

    "" where there is none, and where the options cannot be read: then only those who may list all are told why.
    """
    if "fieldSelector" not in query:
        return ""
    try:
        label_selector.parse(query.get("labelSelector", ""))
        for option in ("limit", "timeoutSeconds"):
            whole(query.get(option, ""))
        terms = fields(query["fieldSelector"])
    except ApiError:
        return ""
    name = next((value for path, wanted, value in terms if path == "metadata.name" and wanted), "")
    return "" if name in (".", "..") or "/" in name or "%" in name else name


@remember(4096)
def parse(raw_path: str) -> Target | None:
    """The target of a resource path; None for every other path, such as /healthz or /apis/G/V itself."""
    parts = [unquote(part) for part in raw_path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watched = rest[0] == "watch" and len(rest) > 1
    if watched:
        rest = rest[1:]
    if rest[0] == "namespaces" and len(rest) > 1:
        return _in_namespace(group, version, rest, watched)
    return _split(group, version, "", rest, watched)


def _in_namespace(group: str, version: str, rest: list[str], watched: bool) -> Target | None:
    # /namespaces/N and its own subresources are the Namespace itself; RBAC counts them as inside N.
    if len(rest) == 2 or (len(rest) == 3 and rest[2] in ("status", "finalize")):
        return _split(group, version, rest[1], rest, watched)
    return _split(group, version, rest[1], rest[2:], watched)


def _split(group: str, version: str, namespace: str, rest: list[str], watched: bool) -> Target | None:
    if len(rest) > 3 or not all(rest):
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    return Target(group, version, plural, namespace, name, subresource, watched)
