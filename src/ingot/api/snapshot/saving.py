"""Savers: what controllers and nodes tell each other of disks that are saved as full copies, on the pods for that.

A pod whose role is MEASURE asks the node how large disks are; one with the role COPY holds the claims that the node
fills with them. What is to be saved is in the VirtualMachineSnapshotContent that controls the pod.
"""

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

import msgspec

from ingot.api.object import Object, uid_of

# On a pod: its role. Nodes find their savers by it.
SAVER: Final = "ingot.io/saver"
MEASURE, COPY = "measure", "copy"
# On a pod: the uid of the instance whose guest is running on the disks; "" for a machine that does not run.
INSTANCE: Final = "ingot.io/saver-instance"
# On a pod: written when all that belongs to the same moment is prepared.
NOW: Final = "ingot.io/save-now"
# On a pod: what the node says.
SAVING: Final = "ingot.io/saving"

_ANY = "1970-01-01T00:00:00Z"
_PREFIXES = {MEASURE: "sizer-", COPY: "saver-"}


class Stage(StrEnum):
    """How far a node is. It goes on from WAITING and READY by itself; MEASURED, DONE and FAILED are the last."""

    WAITING = "Waiting"
    MEASURED = "Measured"
    READY = "Ready"
    COPYING = "Copying"
    DONE = "Done"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class Saving:
    """What a node says of a saver. `sizes` are bytes by volume, `moment` and `since` are times as objects have them;
    `done` and `total` are bytes of all volumes together."""

    stage: Stage
    reason: str = ""
    message: str = ""
    sizes: dict[str, int] = field(default_factory=dict)
    moment: str = ""
    since: str = ""
    done: int = 0
    total: int = 0

    def text(self) -> str:
        """The annotation."""
        return json.dumps({key: value for key, value in asdict(self).items() if value}, separators=(",", ":"))

    @classmethod
    def of(cls, pod: Object) -> Self | None:
        """What is said on a pod; None where nothing is, or nothing that can be understood."""
        text = (pod["metadata"].get("annotations") or {}).get(SAVING)
        try:
            said = msgspec.json.decode(text or "", type=cls)
            for moment in (said.moment, said.since):
                datetime.fromisoformat(moment or _ANY)
        except (msgspec.DecodeError, ValueError):
            return None
        return said


def saver_name(content: Object, role: str) -> str:
    """The pod of a content, in that role."""
    return f"{_PREFIXES[role]}{uid_of(content)}"


def saved_volumes(content: Object) -> dict[str, str]:
    """The claims that hold full copies, by the volumes that they are of."""
    backups = content["spec"].get("volumeBackups") or ()
    return {each["volumeName"]: each["savedClaimName"] for each in backups if each.get("savedClaimName")}


def kept_volumes(content: Object) -> list[Object]:
    """Those volumes, as the machine has them."""
    spec = content["spec"]["source"]["virtualMachine"]["spec"]["template"]["spec"]
    return [each for each in spec.get("volumes") or () if each["name"] in saved_volumes(content)]
