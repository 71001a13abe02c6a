"""Who uses golden images: machines whose disks were cloned from a version, or that read it itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ingot.api.cdi.names import CLONED_FROM, PRIME_FOR
from ingot.api.object import Object, name_of, namespace_of
from ingot.api.resources import INSTANCES, MACHINES, VOLUME_CLAIMS
from ingot.api.status import ApiError
from ingot.cli.golden.found import Golden, Key, each
from ingot.cli.golden.kept import images_of
from ingot.disks.claims import claim_name

if TYPE_CHECKING:
    from ingot.cli.connection import Session


@dataclass(frozen=True, slots=True)
class Users:
    """By the version's namespace and name: machines as NAMESPACE/NAME, and `volume NAMESPACE/NAME` for clones that no
    machine has."""

    by_version: Mapping[Key, list[str]]
    # Those of them alone that have a clone of it, and need it no more.
    clones: Mapping[Key, list[str]]
    # Versions by the namespace and name of their image: with thousands of both, no search finds them in time.
    by_image: Mapping[Key, list[Key]]

    def of(self, version: Key) -> list[str]:
        return self.by_version.get(version, [])

    def of_all(self, golden: Golden) -> list[str]:
        """Of every version, also of those that are gone."""
        known = {one.key for one in golden.kept} | set(self.gone(golden))
        return sorted({user for version in known for user in self.of(version)})

    def made_from(self, golden: Golden) -> list[str]:
        """Those that keep their disks when its versions go, or have gone."""
        versions = {one.key for one in golden.own} | set(self.gone(golden))
        return sorted({user for version in versions for user in self.clones.get(version, ())})

    def gone(self, golden: Golden) -> list[Key]:
        """The versions that are not there any more, and that somebody was made from."""
        kept = {one.key for one in golden.kept}
        own = self.by_image.get((golden.namespace, golden.name), ())
        return sorted(key for key in own if key not in kept)


async def find_users(session: "Session") -> Users | None:
    """Those of all namespaces; None for somebody who may not see them."""
    try:
        claims = [obj async for obj in each(session, VOLUME_CLAIMS, "")]
        machines = [obj for kind in (MACHINES, INSTANCES) async for obj in each(session, kind, "")]
    except ApiError as error:
        if error.reason != "Forbidden":
            raise
        return None
    return users_of(claims, machines)


def users_of(claims: Iterable[Object], machines: Iterable[Object]) -> Users:
    """Who uses what, of all claims, machines and instances that there are."""
    having: defaultdict[Key, set[str]] = defaultdict(set)
    for machine in machines:
        for name in _claims_of(machine):
            having[namespace_of(machine), name].add(f"{namespace_of(machine)}/{name_of(machine)}")
    found: defaultdict[Key, set[str]] = defaultdict(set)
    for claim in claims:
        notes = claim["metadata"].get("annotations") or {}
        key = (namespace_of(claim), name_of(claim))
        if PRIME_FOR in notes:
            continue
        if origin := notes.get(CLONED_FROM):
            namespace, _, name = str(origin).partition("/")
            found[namespace, name] |= having.get(key) or {f"volume {key[0]}/{key[1]}"}
    clones = {key: sorted(words) for key, words in found.items()}
    for key, words in having.items():
        found[key] |= words
    images: defaultdict[Key, list[Key]] = defaultdict(list)
    for key in found:
        for image in images_of(key[1]):
            images[key[0], image].append(key)
    return Users({key: sorted(words) for key, words in found.items()}, clones, images)


def _claims_of(machine: Object) -> Iterator[str]:
    """The claims of its namespace that a machine or an instance has, by name: a DataVolume's claim has its name."""
    spec = machine["spec"].get("template", {}).get("spec", {}) if "template" in machine["spec"] else machine["spec"]
    for volume in spec.get("volumes") or ():
        if name := claim_name(volume):
            yield name
