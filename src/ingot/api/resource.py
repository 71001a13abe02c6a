"""The name of a collection of objects on the wire."""

from dataclasses import dataclass
from urllib.parse import quote

from ingot.api.object import join_api_version


@dataclass(frozen=True, slots=True)
class Resource:
    """Where objects of one kind live: `Resource("", "v1", "pods", "Pod", namespaced=True)`."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return join_api_version(self.group, self.version)

    @property
    def qualified(self) -> str:
        """The plural as messages print it: `pods`, `datavolumes.cdi.kubevirt.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object or of its subresource.

        Without a namespace the path of a namespaced kind spans all namespaces.
        """
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        if name:
            parts.append(quote(name, safe=""))
        if subresource:
            parts.append(subresource)
        return "/".join(parts)
