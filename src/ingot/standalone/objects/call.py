"""One request for objects, as every verb sees it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ingot.api.status import ApiError, Cause, bad_request, invalid
from ingot.standalone import fields, times
from ingot.standalone.access.user import User
from ingot.standalone.builtin import meta
from ingot.standalone.goprint import INT64, quote, strings
from ingot.standalone.patch.managers import manager_name
from ingot.standalone.resources.served import Served

_WHOLE = re.compile("[+-]?[0-9]+")
_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
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
            raise self._invalid([fields.not_supported("dryRun", strings([value]), ("All",))])
        return value == "All"

    @property
    def validation(self) -> str:
        """How unknown and duplicate fields are taken: Ignore, Warn or Strict."""
        value = self.query.get("fieldValidation", "") or "Warn"
        if value not in VALIDATIONS:
            raise self._invalid([fields.not_supported("fieldValidation", value, ("", *VALIDATIONS))])
        return value

    @property
    def manager(self) -> str:
        """The field manager: the one named, else what the user agent says."""
        named = self.query.get("fieldManager", "")
        if causes := meta.manager_causes("fieldManager", named):
            raise self._invalid(causes)
        return manager_name(named, self.agent)

    @property
    def force(self) -> bool:
        return flag(self.query, "force")

    def _invalid(self, causes: list[Cause]) -> ApiError:
        """The refusal of options in the query."""
        return invalid("meta.k8s.io", _OPTIONS.get(self.verb, "DeleteOptions"), "", causes)


def flag(query: Mapping[str, str], name: str) -> bool:
    """Whether a query says yes: every value does but these two, even none at all."""
    return name in query and query[name].lower() not in ("0", "false")


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
