"""One request for objects, as every verb sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ingot.api.status import ApiError, bad_request
from ingot.standalone import times
from ingot.standalone.access.user import User
from ingot.standalone.goprint import INT64, quote
from ingot.standalone.patch.managers import manager_name
from ingot.standalone.resources.served import Served

_WHOLE = re.compile("[+-]?[0-9]+")
VALIDATIONS = ("Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Call:
    """Who asks for what. `warnings` gathers what the answer's Warning headers will say."""

    served: Served
    verb: str
    namespace: str
    name: str
    subresource: str
    user: User
    query: Mapping[str, str]
    agent: str = ""
    warnings: list[str] = field(default_factory=list)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def timestamp(self) -> str:
        return times.written(self.now)

    @property
    def dry_run(self) -> bool:
        """Whether the query says that nothing is to be stored."""
        value = self.query.get("dryRun", "")
        if value not in ("", "All"):
            raise _invalid_option(
                "dryRun",
                f'Unsupported value: []string{{"{value}"}}: supported values: "All"',
                "FieldValueNotSupported",
                self.verb,
            )
        return value == "All"

    @property
    def validation(self) -> str:
        """How unknown and duplicate fields are taken: Ignore, Warn or Strict."""
        value = self.query.get("fieldValidation", "") or "Warn"
        if value not in VALIDATIONS:
            listed = ", ".join(f'"{name}"' for name in ("", *VALIDATIONS))
            text = f'Unsupported value: "{value}": supported values: {listed}'
            raise _invalid_option("fieldValidation", text, "FieldValueNotSupported", self.verb)
        return value

    @property
    def manager(self) -> str:
        """The field manager: the one named, else what the user agent says."""
        named = self.query.get("fieldManager", "")
        if len(named) > 128:
            raise _invalid_option(
                "fieldManager", "Too long: may not be more than 128 bytes", "FieldValueTooLong", self.verb
            )
        for position, character in enumerate(named):
            if not character.isprintable():
                why = f"invalid character U+{ord(character):04X} (at position {position})"
                raise _invalid_option(
                    "fieldManager", f"Invalid value: {quote(named)}: {why}", "FieldValueInvalid", self.verb
                )
        return manager_name(named, self.agent)

    @property
    def force(self) -> bool:
        return flag(self.query, "force")


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a query says yes: every value does but these two, even none at all."""
    return name in query and query[name].lower() not in ("0", "false")


def _invalid_option(field_name: str, text: str, reason: str, verb: str) -> ApiError:
    kind = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}.get(verb, "DeleteOptions")
    details = {
        "group": "meta.k8s.io",
        "kind": kind,
        "causes": [{"reason": reason, "message": text, "field": field_name}],
    }
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {field_name}: {text}', details)


def whole(text: str) -> int:
    """A query's whole number, 0 where it is absent."""
    if not text:
        return 0
    if not _WHOLE.fullmatch(text):
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: invalid syntax")
    number = int(text)
    if number not in INT64:
        raise bad_request(f"strconv.ParseInt: parsing {quote(text)}: value out of range")
    return number
