"""Where a machine's disks are looked for: its namespace, its node, its launcher pod."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Place:
    """`kubelet` is the kubelet's root directory; `private` the node's own directory for this one machine.

    That is own/node/machines/UID, where `own` holds all that is Ingot's on the node: keys, tokens, everybody's disks.
    """

    namespace: str
    node: str
    pod_uid: str
    kubelet: Path
    private: Path

    @property
    def own(self) -> Path:
        return self.private.parents[2]
