"""An address of its own for each pod of Ingot's image, out of those that lead back to this machine.

Processes of one machine share its network, and two cannot listen on one port of one address. All of 127.0.0.0/8 is the
machine itself, so there is an address for each.
"""

import hashlib
from ipaddress import IPv4Network
from pathlib import Path

from ingot.api.object import Object, uid_of
from ingot.standalone.pods.containers import is_own
from ingot.standalone.pods.directory import PodDirectory, known
from ingot.standalone.pods.downward import ADDRESS

# Far from 127.0.0.1 and its neighbours, which names of this machine and resolvers have.
_NETWORK = IPv4Network("127.64.0.0/10")


def has_own_address(pod: Object) -> bool:
    """Whether all of the pod is local processes that may be told where to listen."""
    spec = pod["spec"]
    containers = (*(spec.get("initContainers") or ()), *spec["containers"])
    return not spec.get("hostNetwork") and all(map(is_own, containers))


class Addresses:
    """Gives each pod an address that no other has, for as long as the pod has a directory, whoever runs it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._given = {uid: address for uid in known(root) if (address := self._written(uid))}

    def _written(self, uid: str) -> str:
        try:
            return PodDirectory(self._root, uid).address.read_text().strip()
        except FileNotFoundError:
            return ""

    def of(self, pod: Object) -> str:
        """The pod's address, written down before anybody is told. Raises OSError."""
        if not has_own_address(pod):
            return ADDRESS
        uid = uid_of(pod)
        address = self._given.get(uid) or self._written(uid)
        if not address:
            address = self._free(uid)
            self._write(uid, address)
        self._given[uid] = address
        return address

    def _free(self, uid: str) -> str:
        """An address that follows from the uid, or the next that is free: others' machines here choose differently."""
        taken = set(self._given.values())
        start = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4], "big")
        for step in range(len(taken) + 1):
            address = str(_NETWORK[(start + step) % _NETWORK.num_addresses])
            if address not in taken:
                break
        return address

    def _write(self, uid: str, address: str) -> None:
        place = PodDirectory(self._root, uid)
        place.make(place.path)
        scratch = place.address.with_name(f".{place.address.name}")
        scratch.write_text(f"{address}\n")
        scratch.replace(place.address)

    def forget(self, uid: str) -> None:
        """The pod is over: another may have the address."""
        self._given.pop(uid, None)
