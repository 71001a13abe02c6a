"""Why a pod is on no node, in kube-scheduler's words."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why one node does not take a pod; `resolvable` if it would were other pods gone from it."""

    reasons: tuple[str, ...]
    resolvable: bool = False


class Unschedulable(Exception):
    """No node takes the pod: the message is for its condition and event."""


def on_every_node(reason: str, nodes: int) -> Unschedulable:
    """The pod itself is not ready to be placed, wherever."""
    if not nodes:
        return Unschedulable(NO_NODES)
    return Unschedulable(f"{_none_of(nodes)}: {reason}. {_preemption(nodes, 0)}")


def on_each_node(refusals: Sequence[Refusal]) -> Unschedulable:
    """Every node has a reason of its own."""
    if not refusals:
        return Unschedulable(NO_NODES)
    counts = Counter(reason for refusal in refusals for reason in refusal.reasons)
    reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    resolvable = sum(refusal.resolvable for refusal in refusals)
    return Unschedulable(f"{_none_of(len(refusals))}: {reasons}. {_preemption(len(refusals), resolvable)}")


def _none_of(nodes: int) -> str:
    return f"0/{nodes} nodes are available"


def _preemption(nodes: int, resolvable: int) -> str:
    """Pods are never put off a node for others, so that nobody is found to be."""
    parts = []
    if resolvable:
        parts.append(f"{resolvable} No preemption victims found for incoming pod")
    if nodes > resolvable:
        parts.append(f"{nodes - resolvable} Preemption is not helpful for scheduling")
    return f"preemption: {_none_of(nodes)}: {', '.join(parts)}."
