"""A kind by its plural, and what becomes of an object of it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ingot.standalone.builtin.kinds import DEFINITIONS
from ingot.standalone.resources.definition import Definition

Obj = dict[str, Any]
KINDS = {definition.qualified: definition for definition in DEFINITIONS}


class Kind:
    """One kind, as the server would use it."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def filled(self, obj: Obj) -> Obj:
        """The object with its type, metadata and defaults in place."""
        made = deepcopy(obj)
        metadata: Obj = {"name": "x", "uid": "u", "creationTimestamp": "2020-01-01T00:00:00Z"}
        if self.definition.namespaced:
            metadata["namespace"] = "default"
        made["metadata"] = {**metadata, **made.get("metadata", {})}
        made |= {"apiVersion": self.definition.api_version(), "kind": self.definition.kind}
        self.definition.default(made)
        return made

    def faults(self, obj: Obj) -> list[str]:
        """What is wrong with a new object."""
        return [str(cause) for cause in self.definition.validate(self.filled(obj), None)]

    def changes(self, obj: Obj, change: Callable[[Obj], Any]) -> list[str]:
        """What is wrong with a change of an object."""
        old = self.filled(obj)
        old["metadata"]["resourceVersion"] = "1"
        new = deepcopy(old)
        change(new)
        self.definition.default(new)
        return [str(cause) for cause in self.definition.validate(new, old)]


@pytest.fixture
def kind() -> Callable[[str], Kind]:
    return lambda qualified: Kind(KINDS[qualified])
