"""Holders: who has a piece of storage, as the Lease of its identity keeps it."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from ingot.api.kubevirt.names import SYSTEM_NAMESPACE
from ingot.api.object import Object
from ingot.api.resources import INSTANCES

# On every Lease of storage, to list them by; and one for each machine that holds it.
LABEL = "ingot.io/storage"
_HOLDER_LABEL = "holder.ingot.io/"
_IDENTITY = "ingot.io/storage-identity"
_HOLDERS = "ingot.io/storage-holders"


@dataclass(frozen=True, slots=True)
class Holder:
    """A volume of a machine that uses the storage, on which node and how; or a snapshot that is being made of it."""

    namespace: str
    name: str
    uid: str
    node: str
    mode: str
    volume: str
    kind: str = INSTANCES.kind

    @property
    def key(self) -> tuple[str, str]:
        """A machine may hold one storage by several of its volumes, and once by each."""
        return self.uid, self.volume

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} ({self.mode} on {self.node})"


def lease_name(identity: str) -> str:
    """The Lease of an identity, which may hold what no object's name may."""
    return f"storage-{hashlib.sha256(identity.encode()).hexdigest()[:40]}"


def holder_label(uid: str) -> str:
    """The label of all Leases that a machine holds."""
    return f"{_HOLDER_LABEL}{uid}"


def new_lease(identity: str) -> Object:
    """A Lease that nobody holds yet."""
    return {
        "metadata": {
            "name": lease_name(identity),
            "namespace": SYSTEM_NAMESPACE,
            "annotations": {_IDENTITY: identity},
        }
    }


def identity_of(lease: Object) -> str:
    return str(lease["metadata"]["annotations"][_IDENTITY])


def holders_of(lease: Object) -> list[Holder]:
    return [Holder(**entry) for entry in json.loads(lease["metadata"]["annotations"].get(_HOLDERS, "[]"))]


def with_holders(lease: Object, holders: Iterable[Holder]) -> Object:
    """The Lease, held by these. It has no duration: it does not run out, because a guest does not."""
    ordered = sorted(holders, key=lambda holder: holder.key)
    metadata = lease["metadata"]
    annotations = metadata["annotations"] | {
        _HOLDERS: json.dumps([asdict(holder) for holder in ordered], separators=(",", ":"))
    }
    labels = {LABEL: "true"} | {holder_label(holder.uid): "true" for holder in ordered}
    summary = ", ".join(dict.fromkeys(map(str, ordered)))
    return {
        "metadata": metadata | {"annotations": annotations, "labels": labels},
        "spec": {"holderIdentity": summary},
    }
