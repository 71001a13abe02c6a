"""The kubelet's paths (F3), as Kubernetes 1.32 has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from disks_objects import POD, volume

from ingot.disks.kubelet import ROOT, UnknownPlugin, is_block, volume_path

CSI = {"csi": {"driver": "d", "volumeHandle": "h"}}


@pytest.mark.parametrize(
    ("source", "below"),
    [
        ({"local": {"path": "/mnt/a"}}, "kubernetes.io~local-volume/pv-1"),
        ({"iscsi": {"iqn": "iqn.2020-01.a:b"}}, "kubernetes.io~iscsi/pv-1"),
        ({"nfs": {"server": "s", "path": "/"}}, "kubernetes.io~nfs/pv-1"),
        ({"rbd": {"image": "i"}}, "kubernetes.io~rbd/pv-1"),
        ({"fc": {"wwids": ["w"]}}, "kubernetes.io~fc/pv-1"),
        ({"cephfs": {"monitors": []}}, "kubernetes.io~cephfs/pv-1"),
        ({"flexVolume": {"driver": "example.com/fast"}}, "example.com~fast/pv-1"),
        (CSI, "kubernetes.io~csi/pv-1/mount"),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, "kubernetes.io~csi/pv-1/mount"),
        ({"portworxVolume": {"volumeID": "v"}}, "kubernetes.io~csi/pv-1/mount"),
    ],
)
def test_filesystems(source: dict[str, Any], below: str) -> None:
    found = volume_path(ROOT, POD, volume(**source))
    assert found == Path(f"/var/lib/kubelet/pods/{POD}/volumes/{below}")


@pytest.mark.parametrize(
    ("source", "below"),
    [
        ({"local": {"path": "/dev/sdb"}}, "kubernetes.io~local-volume/pv-1"),
        ({"iscsi": {"iqn": "iqn.2020-01.a:b"}}, "kubernetes.io~iscsi/pv-1"),
        ({"fc": {"wwids": ["w"]}}, "kubernetes.io~fc/pv-1"),
        (CSI, "kubernetes.io~csi/pv-1"),
        ({"awsElasticBlockStore": {"volumeID": "v"}}, "kubernetes.io~csi/pv-1"),
    ],
)
def test_devices(source: dict[str, Any], below: str) -> None:
    pv = volume("Block", **source)
    assert is_block(pv)
    assert volume_path(Path("/k"), POD, pv) == Path(f"/k/pods/{POD}/volumeDevices/{below}")


def test_a_host_path_is_where_it_is() -> None:
    pv = volume(hostPath={"path": "/data/one"})
    del pv["spec"]["volumeMode"]
    assert not is_block(pv), "a PersistentVolume without a mode is a filesystem"
    assert volume_path(ROOT, POD, pv) == Path("/data/one")


def test_an_unknown_source_is_refused() -> None:
    with pytest.raises(UnknownPlugin, match=r"'pv-1'.* iscsi"):
        volume_path(ROOT, POD, volume(novel={}))
