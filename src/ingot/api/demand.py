"""A right that an object demands of whoever writes it, beyond the right to write objects of its kind."""

from dataclasses import dataclass
from typing import TypeAlias

from ingot.api.lookup import Lookup
from ingot.api.object import Object
from ingot.api.status import ApiError, forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """`what` is the part of the object that needs the right and why, `instead` what would do without it. `place`: where
    it is needed, in words that tell the user of no other namespace than those that the object names."""

    what: str
    instead: str
    verb: str
    group: str
    resource: str
    namespace: str
    place: str = ""
    subresource: str = ""
    name: str = ""

    def attributes(self) -> Object:
        """What to ask, as a SubjectAccessReview has it."""
        asked = {"verb": self.verb, "group": self.group, "resource": self.resource, "namespace": self.namespace}
        return {**asked, "subresource": self.subresource, "name": self.name}

    def refusal(self, group: str, plural: str, name: str, who: str) -> ApiError:
        """The 403 for a user without the right, who is called `who`; the rest names the object."""
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        place = self.place or f'the namespace "{self.namespace}"'
        right = f'"{self.verb}" on resource "{resource}" in API group "{self.group}" in {place}'
        why = (
            f'{self.what}: User "{who}" needs the verb {right}, which an administrator of the cluster can grant by a '
            f"Role; {self.instead} needs no such right"
        )
        return forbidden(group, plural, name, why)


Asking: TypeAlias = Lookup[list[Demand]]
