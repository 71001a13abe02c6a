"""Conflicts of an apply: fields that another manager owns and this one would change."""

from ingot.api.status import ApiError
from ingot.standalone.patch import fieldset
from ingot.standalone.patch.entries import Identity
from ingot.standalone.patch.fieldset import FieldSet


class Conflicts(Exception):
    """The fields in dispute, by the manager that owns them."""

    def __init__(self, fields: dict[Identity, FieldSet]) -> None:
        super().__init__(", ".join(map(str, fields)))
        self.fields = fields

    def outside(self, allowed: FieldSet) -> "Conflicts":
        """What is left in dispute when these fields are not."""
        left = {who: fieldset.difference(fields, allowed) for who, fields in self.fields.items()}
        return Conflicts({who: fields for who, fields in left.items() if fields})

    def error(self) -> ApiError:
        """The answer to the client: 409 with a cause for each field."""
        owned = {
            who: [fieldset.path_text(path) for path in fieldset.paths(self.fields[who])]
            for who in sorted(self.fields, key=Identity.order)
        }
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": path}
            for who, paths in owned.items()
            for path in paths
        ]
        if len(causes) == 1:
            (who, (path,)), *_ = owned.items()
            message = f"Apply failed with 1 conflict: conflict with {who}: {path}"
        else:
            lines: list[str] = []
            for who, paths in owned.items():
                lines += [f"conflicts with {who}:", *(f"- {path}" for path in paths)]
            message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
        return ApiError(409, "Conflict", message, {"causes": causes})
