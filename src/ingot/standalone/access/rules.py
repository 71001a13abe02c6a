"""RBAC rules: what one allows, what a set of them covers, and how a message prints them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from ingot.api.object import Object
from ingot.standalone.goprint import quote_all


@dataclass(frozen=True, slots=True)
class Rule:
    """One PolicyRule. The order of its lists is kept, for messages and for reviews."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, rule: Object) -> Self:
        return cls(
            tuple(rule.get("verbs") or ()),
            tuple(rule.get("apiGroups") or ()),
            tuple(rule.get("resources") or ()),
            tuple(rule.get("resourceNames") or ()),
            tuple(rule.get("nonResourceURLs") or ()),
        )

    def wire(self) -> Object:
        """The PolicyRule without what is empty, save the verbs, which it must have."""
        rule: Object = {"verbs": list(self.verbs)}
        named = (
            ("apiGroups", self.groups),
            ("resources", self.resources),
            ("resourceNames", self.names),
            ("nonResourceURLs", self.urls),
        )
        rule.update((key, list(values)) for key, values in named if values)
        return rule

    def allows_resource(self, verb: str, group: str, resource: str, subresource: str) -> bool:
        """Whether it allows the verb on the resource of some name; `names` says which."""
        return (
            _has(self.verbs, verb)
            and _has(self.groups, group)
            and _resource_matches(self.resources, resource, subresource)
        )

    def allows_path(self, verb: str, path: str) -> bool:
        return _has(self.verbs, verb) and any(_url_covers(url, path) for url in self.urls)

    def covers(self, part: "Rule") -> bool:
        """Whether who holds this rule holds `part`, a rule with at most one of everything."""
        return (
            ("*" in self.verbs or set(part.verbs) <= set(self.verbs))
            and ("*" in self.groups or set(part.groups) <= set(self.groups))
            and all(_resource_covers(self.resources, resource) for resource in part.resources)
            and all(any(_url_covers(own, url) for own in self.urls) for url in part.urls)
            and (not self.names or (bool(part.names) and set(part.names) <= set(self.names)))
        )

    def parts(self) -> list["Rule"]:
        """The same permissions as rules with one verb, one group, one resource and one name, or one URL."""
        names: Sequence[tuple[str, ...]] = [(name,) for name in self.names] or [()]
        parts = [
            Rule((verb,), (group,), (resource,), name)
            for group in self.groups
            for resource in self.resources
            for verb in self.verbs
            for name in names
        ]
        return parts + [Rule((verb,), urls=(url,)) for url in self.urls for verb in self.verbs]

    def __str__(self) -> str:
        named = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return "{" + ", ".join(f"{key}:{quote_all(values)}" for key, values in named if values) + "}"


def uncovered(owned: Sequence[Rule], wanted: Iterable[Rule]) -> list[Rule]:
    """The parts of `wanted` that no single rule of `owned` covers."""
    return [part for rule in wanted for part in rule.parts() if not any(own.covers(part) for own in owned)]


def compact(parts: Iterable[Rule]) -> list[Rule]:
    """`parts` with the verbs of one resource gathered into one rule."""
    gathered: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for part in parts:
        gathered.setdefault((part.groups, part.resources, part.names, part.urls), []).extend(part.verbs)
    rules = []
    for (groups, resources, names, urls), verbs in gathered.items():
        # Only rules on resources are gathered: a URL keeps one rule for each verb.
        for chosen in [tuple(verbs)] if resources else [(verb,) for verb in verbs]:
            rules.append(Rule(chosen, groups, resources, names, urls))
    return rules


def _has(values: tuple[str, ...], value: str) -> bool:
    return value in values or "*" in values


def _resource_matches(values: tuple[str, ...], resource: str, subresource: str) -> bool:
    if "*" in values:
        return True
    if subresource:
        return f"{resource}/{subresource}" in values or f"*/{subresource}" in values
    return resource in values


def _resource_covers(values: tuple[str, ...], path: str) -> bool:
    resource, _, subresource = path.partition("/")
    return path in values or _resource_matches(values, resource, subresource)


def _url_covers(own: str, url: str) -> bool:
    return own == url or (own.endswith("*") and url.startswith(own.rstrip("*")))
