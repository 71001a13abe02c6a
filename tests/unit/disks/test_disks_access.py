"""The access mode that a volume and its disk ask for. Claims themselves are tested with a server, in tests/wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ingot.disks.access import AccessMode, in_use, wanted
from ingot.disks.holder import Holder, holders_of, identity_of, lease_name, new_lease, with_holders

CLAIM = {"persistentVolumeClaim": {"claimName": "c"}}


@pytest.mark.parametrize(
    ("volume", "disk", "mode"),
    [
        (CLAIM, {}, "write-exclusive"),
        (CLAIM, {"disk": {"bus": "virtio"}}, "write-exclusive"),
        (CLAIM, {"shareable": True}, "write-shared"),
        (CLAIM, {"disk": {"readonly": True}}, "read-shared"),
        (CLAIM, {"lun": {"readonly": True}}, "read-shared"),
        (CLAIM, {"cdrom": {}}, "read-shared"),
        ({"persistentVolumeClaim": {"claimName": "c", "readOnly": True}}, {}, "read-shared"),
        ({"ephemeral": CLAIM}, {}, "read-shared"),
        (CLAIM | {"copy": {"mode": "clone"}}, {}, "read-shared"),
        (CLAIM | {"copy": {"mode": "none"}}, {}, "write-exclusive"),
        ({"http": {"url": "http://h/a"}}, {}, "read-shared"),
        ({"networkVolume": {"uri": "nbd://h/a"}}, {}, "read-shared"),
        ({"networkVolume": {"uri": "nbd://h/a", "readOnly": False}}, {}, "write-exclusive"),
        ({"networkVolume": {"uri": "HTTPS://h/a", "readOnly": False}}, {}, "read-shared"),
        (CLAIM | {"accessMode": "write-shared"}, {"cdrom": {}}, "write-shared"),
        (CLAIM | {"accessMode": "write-exclusive"}, {"shareable": True}, "write-exclusive"),
    ],
)
def test_wanted(volume: dict[str, Any], disk: dict[str, Any], mode: str) -> None:
    assert wanted({"name": "v", **volume}, {"name": "v", **disk}) is AccessMode(mode)


def test_a_lease_keeps_its_holders() -> None:
    identity = "nbd:[::1]:10809/Some Export/ü"
    holders = [Holder("ns", name, f"uid-{name}", "node", "read-shared", "root") for name in ("b", "a")]
    lease = with_holders(new_lease(identity), holders)
    assert identity_of(lease) == identity
    assert sorted(holder.name for holder in holders_of(lease)) == ["a", "b"]
    assert lease["spec"] == {"holderIdentity": "ns/a (read-shared on node), ns/b (read-shared on node)"}
    assert lease["metadata"]["name"] == lease_name(identity)
    assert set(lease["metadata"]["labels"]) == {"ingot.io/storage", "holder.ingot.io/uid-a", "holder.ingot.io/uid-b"}
    assert "holder.ingot.io/uid-b" not in with_holders(lease, [holders[1]])["metadata"]["labels"]


def test_who_has_a_storage_is_told_within_a_namespace_only() -> None:
    own = Holder("lab", "web", "u1", "node-1", "write-exclusive", "root")
    other = Holder("lab", "db", "u2", "node-2", "read-shared", "data")
    told = in_use("iscsi:192.0.2.1:3260/iqn.a:b/2", own, other).message
    assert told.startswith(
        "LUN 2 of iqn.a:b at 192.0.2.1:3260 is in use read-shared by VirtualMachineInstance lab/db on "
    )
    assert "'data'" in told
    foreign = in_use("iscsi:192.0.2.1:3260/iqn.a:b/2", own, replace(other, namespace="bank")).message
    assert "by a machine of another namespace" in foreign
    assert not [name for name in ("bank", "db", "node-2", "data") if name in foreign]
