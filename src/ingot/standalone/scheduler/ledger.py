"""What is promised to whom on which node: pods that are bound, and those about to be."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ingot.api.object import Object, namespace_of, uid_of
from ingot.api.pod_claims import claims_of
from ingot.standalone.scheduler.amounts import PODS, Amounts, requests

ENDED = ("Succeeded", "Failed")


class Port(NamedTuple):
    """A port of the node; an empty address stands for all of them."""

    address: str
    protocol: str
    number: int

    def clashes(self, other: "Port") -> bool:
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return not self.address or not other.address or self.address == other.address


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod on a node, and what it takes there."""

    pod: Object
    node: str
    amounts: Amounts
    ports: tuple[Port, ...]


class Ledger:
    """Pods by uid, and their sums by node. A pod that was placed stays until it is removed, whatever caches say."""

    def __init__(self) -> None:
        self._placed: dict[str, Placed] = {}
        self._nodes: dict[str, dict[str, Placed]] = {}
        self._totals: dict[str, Amounts] = {}

    def place(self, pod: Object, node: str) -> None:
        """Count the pod on the node, and nowhere else."""
        self.remove(pod)
        placed = Placed(pod, node, {**requests(pod), PODS: 1}, ports_of(pod))
        self._placed[uid_of(pod)] = placed
        self._nodes.setdefault(node, {})[uid_of(pod)] = placed
        self._add(node, placed.amounts, 1)

    def remove(self, pod: Object) -> bool:
        """Stop counting the pod; whether it was counted."""
        placed = self._placed.pop(uid_of(pod), None)
        if placed is None:
            return False
        del self._nodes[placed.node][uid_of(pod)]
        self._add(placed.node, placed.amounts, -1)
        if not self._nodes[placed.node]:
            del self._nodes[placed.node], self._totals[placed.node]
        return True

    def _add(self, node: str, amounts: Amounts, sign: int) -> None:
        total = self._totals.setdefault(node, {})
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + sign * amount

    def taken(self, node: str) -> Amounts:
        """The sum of what the node's pods ask for, and their number under `pods`."""
        return self._totals.get(node, {})

    def on(self, node: str) -> Iterable[Placed]:
        return self._nodes.get(node, {}).values()

    def everywhere(self) -> Iterable[Placed]:
        return self._placed.values()

    def uses(self, namespace: str, claim: str) -> bool:
        """Whether a placed pod has the claim."""
        pods = (placed.pod for placed in self._placed.values())
        return any(namespace_of(pod) == namespace and claim in claims_of(pod) for pod in pods)


def ports_of(pod: Object) -> tuple[Port, ...]:
    """The node's ports that the pod wants."""
    spec = pod["spec"]
    sidecars = [each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    found = []
    for container in (*sidecars, *(spec.get("containers") or ())):
        for port in container.get("ports") or ():
            if number := port.get("hostPort"):
                address = port.get("hostIP") or ""
                found.append(
                    Port("" if address == "0.0.0.0" else address, port.get("protocol") or "TCP", number)  # noqa: S104
                )
    return tuple(found)
