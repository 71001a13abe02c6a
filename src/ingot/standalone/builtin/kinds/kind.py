"""How a kind of Kubernetes becomes a Definition: names and rules from its own file, the rest from its schema."""

from collections.abc import Callable, Sequence
from typing import Any

from ingot.api.object import Object
from ingot.api.status import Cause
from ingot.standalone.builtin import meta, names, schemas
from ingot.standalone.builtin.canonical import canonical
from ingot.standalone.builtin.names import Rule
from ingot.standalone.paths import nested
from ingot.standalone.resources.definition import Column, Definition, Version, no_causes, nothing
from ingot.standalone.table import age
from ingot.standalone.table.render import NAME

Check = Callable[[Object, Object | None], list[Cause]]

AGE = Column("Age", age.of, description="How long ago the object was created.")


def define(
    schema_name: str,
    plural: str,
    *,
    namespaced: bool,
    name_rule: Rule = names.subdomain,
    default: Callable[[Object], None] = nothing,
    validate: Check = no_causes,
    validate_status: Check | None = None,
    columns: Sequence[Column] = (NAME, AGE),
    kubernetes: bool = True,
    **rest: Any,
) -> Definition:
    """The Definition of one kind; `rest` goes into it as it is.

    `default` finds an object in its canonical form, with every structure in place. `validate` and `validate_status` are
    asked for what goes beyond the metadata; `kubernetes` is `meta.validate`'s.
    """
    schema = schemas.resolved(schema_name)
    (named,) = schema["x-kubernetes-group-version-kind"]

    def fill(obj: Object) -> None:
        canonical(schema, obj)
        default(obj)

    def with_metadata(validate: Check) -> Check:
        def check(new: Object, old: Object | None) -> list[Cause]:
            causes = meta.validate(new, old, namespaced, name_rule, kubernetes) + validate(new, old)
            return list(dict.fromkeys(causes))

        return check

    version = named["version"]
    rest.setdefault("singular", named["kind"].lower())
    return Definition(
        group=named["group"],
        kind=named["kind"],
        plural=plural,
        namespaced=namespaced,
        versions={version: Version(version, schema, columns=columns, schema_name=schema_name)},
        storage_version=version,
        default=fill,
        validate=with_metadata(validate),
        validate_status=with_metadata(validate_status) if validate_status else None,
        **rest,
    )


def is_set(*path: str) -> Callable[[Object], str]:
    """Reads a switch for a selector: one that is absent is off."""
    return lambda obj: "true" if nested(obj, *path) else "false"
