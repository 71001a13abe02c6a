"""What the rules of a schema may cost for the largest object that fits into a request."""

from ingot.api.status import Cause
from ingot.standalone import fields

_RULE_LIMIT = 10_000_000
_SCHEMA_LIMIT = 100_000_000
_NAMED = 4
_HINT = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared)"
)


class Costs:
    """The estimates of one schema's rules. A schema that was accepted before is not refused for a single rule."""

    def __init__(self, known: bool) -> None:
        self._known = known
        self._total = 0
        self._dearest: list[tuple[int, str]] = []

    def observe(self, path: str, what: str, cost: int) -> list[Cause]:
        """Notes the estimate for one expression, and says if that alone is too much."""
        self._total += cost
        if cost >= _SCHEMA_LIMIT // 100:
            self._dearest = sorted([*self._dearest, (cost, path)], key=lambda entry: -entry[0])[:_NAMED]
        if self._known or cost <= _RULE_LIMIT:
            return []
        return [fields.forbidden(path, _excess(f"estimated {what} cost", cost, _RULE_LIMIT))]

    def causes(self, path: str) -> list[Cause]:
        """Whether all rules together are too much, and which of them weigh most."""
        if self._total <= _SCHEMA_LIMIT:
            return []
        share = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        total = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        causes = [fields.forbidden(place, share) for _, place in self._dearest]
        return [*causes, fields.forbidden(path, _excess(total, self._total, _SCHEMA_LIMIT))]


def _excess(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        times = "more than 100x"
    elif factor < 1.5:
        times = f"{factor:f}x"
    else:
        times = f"{factor:.1f}x"
    return f"{what} exceeds budget by factor of {times} {_HINT}"
