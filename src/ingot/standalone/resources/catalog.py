"""The kinds that are served now: Kubernetes' own, and one for each established CustomResourceDefinition."""

from collections.abc import Iterable, Iterator

from ingot.api.object import split_api_version
from ingot.standalone.resources.definition import Definition
from ingot.standalone.resources.served import Served


class Catalog:
    """Finds what a path or an owner reference names. `generation` grows with every change."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self.generation = 0
        self._definitions: dict[tuple[str, str], Definition] = {}
        self._served: dict[tuple[str, str, str], Served] = {}
        self._kinds: dict[tuple[str, str], Definition] = {}
        self._keys: dict[str, Definition] = {}
        for definition in definitions:
            self.install(definition)

    def __iter__(self) -> Iterator[Definition]:
        return iter(tuple(self._definitions.values()))

    def install(self, definition: Definition, changed: int = 0) -> None:
        """Serves the definition from now on, in place of one of the same group and plural."""
        self.remove(definition.group, definition.plural)
        self._definitions[definition.group, definition.plural] = definition
        self._kinds[definition.group, definition.kind] = definition
        if not definition.storage_key:
            self._keys[definition.key] = definition
        for version in definition.versions.values():
            if version.served:
                key = (definition.group, version.name, definition.plural)
                self._served[key] = Served(definition, version, changed)
        self.generation += 1

    def remove(self, group: str, plural: str) -> None:
        """Stops serving a definition, if it was served."""
        definition = self._definitions.pop((group, plural), None)
        if definition is None:
            return
        self._kinds.pop((group, definition.kind), None)
        self._keys.pop(definition.key, None)
        for version in definition.versions:
            self._served.pop((group, version, plural), None)
        self.generation += 1

    def find(self, group: str, version: str, plural: str) -> Served | None:
        return self._served.get((group, version, plural))

    def definition(self, group: str, plural: str) -> Definition | None:
        return self._definitions.get((group, plural))

    def of_key(self, key: str) -> Definition | None:
        """The definition whose objects the store keeps under a key."""
        return self._keys.get(key)

    def known(self, key: str) -> Definition:
        """The definition of a kind that every server has."""
        return self._keys[key]

    def of_kind(self, api_version: str, kind: str) -> Definition | None:
        """The definition that serves a kind in a version, as an owner reference names it."""
        group, version = split_api_version(api_version)
        found = self._kinds.get((group, kind))
        return found if found and version in found.versions else None

    def stored(self, definition: Definition) -> Served:
        """The definition in the version that is stored."""
        found = self.find(definition.group, definition.storage_version, definition.plural)
        return found or Served(definition, definition.versions[definition.storage_version])
