"""The kinds of snapshot.storage.k8s.io, which a cluster has from its storage, and one machine from Ingot."""

from ingot.api.csi.content import VolumeSnapshotContent
from ingot.api.csi.kinds import KINDS
from ingot.api.csi.snapshot import VolumeSnapshot
from ingot.api.csi.snapshotclass import VolumeSnapshotClass
from ingot.api.machinery.crd import crd_of
from ingot.api.object import Object

__all__ = ["VolumeSnapshot", "VolumeSnapshotClass", "VolumeSnapshotContent", "crds"]


# API servers want a word on who allowed a group below k8s.io.
_APPROVAL = {"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/814"}


def crds() -> list[Object]:
    """The CustomResourceDefinitions. They are for one machine: a cluster's storage brings its own."""
    made = [crd_of(KINDS[key]) for key in sorted(KINDS)]
    for crd in made:
        crd["metadata"]["annotations"] = dict(_APPROVAL)
    return made
