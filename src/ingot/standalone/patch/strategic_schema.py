"""Where in a schema a strategic merge patch is, and what the schema says of merging there."""

from ingot.api.object import Object
from ingot.api.status import ApiError
from ingot.standalone.builtin import schemas


def not_mergeable(message: str) -> ApiError:
    """A patch that does not fit: an error that Kubernetes does not put into any class, hence 500."""
    return ApiError(500, "", message)


class Place:
    """A place in a schema: `strategy` is merge, replace or "", `key` the merge key of a list."""

    __slots__ = ("_schema", "key", "strategy")

    def __init__(self, schema: Object) -> None:
        named = schema.get("x-kubernetes-patch-strategy", "").split(",")
        self.strategy = next((name for name in named if name != "retainKeys"), "")
        self.key: str = schema.get("x-kubernetes-patch-merge-key", "")
        referred = schema.get("allOf")
        if referred and "properties" not in schema and "items" not in schema:
            schema = referred[0]
        self._schema = schema

    def field(self, name: str) -> "Place":
        """The place of a field of this struct."""
        properties = self._schema.get("properties")
        if not properties:
            raise not_mergeable("merging an object in json but data type is not struct, instead is: map")
        if name not in properties:
            struct = schemas.name_of(self._schema).rpartition(".")[2]
            raise not_mergeable(f'unable to find api field in struct {struct} for the json field "{name}"')
        return Place(properties[name])

    def item(self) -> "Place":
        """The place of an item of this list."""
        return Place(self._schema.get("items") or {})
