"""The volumes of a pod: where they can be reached, and which have yet to be made."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingot.api.object import Object, name_of, namespace_of
from ingot.api.pod_claims import claims_of
from ingot.api.resources import VOLUME_CLAIMS, VOLUMES
from ingot.kube.cache import Cache, Key
from ingot.kube.client import Client
from ingot.kube.objects import is_deleting
from ingot.standalone.scheduler.ledger import Ledger
from ingot.standalone.scheduler.refusal import Refusal, on_every_node
from ingot.standalone.scheduler.selectors import labels_of
from ingot.standalone.volumes import match
from ingot.standalone.volumes.words import (
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    SELECTED_NODE,
    annotation,
    class_of,
    is_bound,
    is_delayed,
    is_meant_for,
    reference_to,
)

_NO_VOLUME = Refusal(("node(s) didn't find available persistent volumes to bind",))
_ELSEWHERE = Refusal(("node(s) had volume node affinity conflict",))
_TAKEN = "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"


@dataclass(frozen=True, slots=True)
class Claims:
    """What a pod's claims are: `bound` volumes, and claims `waiting` for a node to be chosen, the largest last."""

    bound: Sequence[Object]
    waiting: Sequence[Object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the waiting claims get volumes on one node: by volumes that are there, or by ones to be made."""

    reserve: Sequence[tuple[Object, Object]]
    make: Sequence[Object]


class Behind(Exception):
    """A claim has a volume that is not in the cache: it comes in a moment, or the claim is declared lost."""


class Storage:
    """Answers from caches alone, and changes nothing but in `begin`."""

    def __init__(self, client: Client, claims: Cache, volumes: Cache, classes: Cache) -> None:
        self._client = client
        self._claims = claims
        self._volumes = volumes
        self._classes = classes

    def claims(self, pod: Object, ledger: Ledger, nodes: int) -> Claims:
        """The pod's claims. Raises Unschedulable when one of them fits no node as it is, and Behind."""
        bound, waiting = [], []
        for name in dict.fromkeys(claims_of(pod)):
            claim = self._claims.get(Key(namespace_of(pod), name))
            if claim is None:
                raise on_every_node(f'persistentvolumeclaim "{name}" not found', nodes)
            if claim.get("status", {}).get("phase") == "Lost":
                volume = claim["spec"].get("volumeName", "")
                why = f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
                raise on_every_node(why, nodes)
            if is_deleting(claim):
                raise on_every_node(f'persistentvolumeclaim "{name}" is being deleted', nodes)
            if "ReadWriteOncePod" in claim["spec"]["accessModes"] and ledger.uses(namespace_of(pod), name):
                raise on_every_node(_TAKEN, nodes)
            if is_bound(claim):
                bound.append(self._volume(claim))
            elif is_delayed(self._classes.get(Key("", class_of(claim)))) and not claim["spec"].get("volumeName"):
                waiting.append(claim)
            else:
                raise on_every_node("pod has unbound immediate PersistentVolumeClaims", nodes)
        return Claims(bound, sorted(waiting, key=match.request_of))

    def _volume(self, claim: Object) -> Object:
        volume = self._volumes.get(Key("", claim["spec"]["volumeName"]))
        if volume is None:
            raise Behind
        return volume

    def refusal(self, claims: Claims, node: Object) -> Refusal | None:
        """Why the pod's volumes keep it off the node."""
        if not all(match.reachable(volume, node) for volume in claims.bound):
            return _ELSEWHERE
        return None if self.plan(claims, node) else _NO_VOLUME

    def plan(self, claims: Claims, node: Object) -> Plan | None:
        """How the claims that wait would get volumes on the node; None if one cannot."""
        reserve: list[tuple[Object, Object]] = []
        make = []
        for claim in claims.waiting:
            selected = annotation(claim, SELECTED_NODE)
            if selected:
                # Somebody is making it already, and there.
                if selected != name_of(node):
                    return None
                make.append(claim)
                continue
            spoken_for = {name_of(volume) for _, volume in reserve}
            volume = match.find(claim, self._volumes.list(), node=node, without=spoken_for)
            if volume is not None:
                reserve.append((claim, volume))
            elif self._can_be_made(claim, node):
                make.append(claim)
            else:
                return None
        return Plan(reserve, make)

    def _can_be_made(self, claim: Object, node: Object) -> bool:
        storage_class = self._classes.get(Key("", class_of(claim)))
        if storage_class is None or storage_class.get("provisioner") in (None, "", NO_PROVISIONER):
            return False
        topologies = storage_class.get("allowedTopologies")
        return not topologies or any(_within(term, node) for term in topologies)

    async def begin(self, claims: Claims, node: Object) -> None:
        """Tell those who bind and make volumes what was chosen. Repeating it changes nothing."""
        plan = self.plan(claims, node)
        if plan is None:
            return
        for claim, volume in plan.reserve:
            if is_meant_for(volume, claim):
                continue
            change = {
                "metadata": {
                    "resourceVersion": volume["metadata"]["resourceVersion"],
                    "annotations": {BOUND_BY_CONTROLLER: "yes"},
                },
                "spec": {"claimRef": reference_to(claim)},
            }
            await self._client.patch(VOLUMES, name_of(volume), change)
        for claim in plan.make:
            if not annotation(claim, SELECTED_NODE):
                metadata = {
                    "resourceVersion": claim["metadata"]["resourceVersion"],
                    "annotations": {SELECTED_NODE: name_of(node)},
                }
                await self._client.patch(VOLUME_CLAIMS, name_of(claim), {"metadata": metadata}, namespace_of(claim))


def _within(term: Object, node: Object) -> bool:
    """Whether the node is in a TopologySelectorTerm of a class."""
    labels = labels_of(node)
    expressions = term.get("matchLabelExpressions") or ()
    return all(labels.get(each["key"]) in (each.get("values") or ()) for each in expressions)
