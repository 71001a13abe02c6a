"""The look at an endpoint before a guest gets it, on every server: what is right, and what is told when it is not."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from guest.servers.ceph import Ceph
from guest.servers.certificates import Certificates
from guest.servers.gluster import Gluster
from guest.servers.nbdkit import Nbdkit
from guest.servers.server import HOST, LoopbackServer
from guest.servers.tgt import Tgt
from ingot.api.kubevirt.uri import HostPort
from ingot.disks.endpoint import Credentials, Endpoint, Network
from ingot.disks.fault import DiskFault
from ingot.disks.inspect import probe

Serve = Callable[[LoopbackServer], LoopbackServer]
SIZE = 1 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    path = tmp_path / "disks" / "one"
    path.parent.mkdir()
    path.write_bytes(bytes(SIZE))
    return path


async def reason(endpoint: Endpoint, scratch: Path) -> str:
    with pytest.raises(DiskFault) as caught:
        await probe("data", endpoint, scratch)
    assert "tried again in 10 s" in caught.value.message
    return caught.value.reason


async def test_iscsi(serve: Serve, disk: Path, tmp_path: Path) -> None:
    target = Tgt([("one", disk)], "someone", "secret-of-tgt")
    serve(target)
    account = Credentials("someone", b"secret-of-tgt")
    right = Network("iscsi", target.iqn, (HostPort(HOST, target.port),), lun=1, credentials=account)
    assert await probe("data", right, tmp_path) == SIZE
    assert await reason(replace(right, credentials=None), tmp_path) == "AccessDenied"
    assert (
        await reason(replace(right, credentials=Credentials("someone", b"wrong-password")), tmp_path) == "AccessDenied"
    )
    assert await reason(replace(right, lun=5), tmp_path) == "NotFound"
    assert await reason(replace(right, name=f"{target.iqn}-other"), tmp_path) == "NotFound"


async def test_rbd(ceph: Ceph, disk: Path, tmp_path: Path) -> None:
    ceph.add("probed", disk)
    account = Credentials(ceph.user, base64.b64decode(ceph.key))
    right = Network("rbd", f"{ceph.pool}/probed", (HostPort(HOST, ceph.port),), credentials=account)
    assert await probe("data", right, tmp_path) == SIZE
    wrong = bytearray(account.secret)
    wrong[-1] ^= 1
    assert await reason(replace(right, credentials=Credentials(ceph.user, bytes(wrong))), tmp_path) == "AccessDenied"
    assert await reason(replace(right, credentials=Credentials("nobody", account.secret)), tmp_path) == "AccessDenied"
    assert await reason(replace(right, name=f"{ceph.pool}/other"), tmp_path) == "NotFound"
    assert await reason(replace(right, name="other/probed"), tmp_path) == "NotFound"


async def test_gluster(gluster: Gluster, disk: Path, tmp_path: Path) -> None:
    gluster.add("probed", disk)
    right = Network("gluster", f"{gluster.volume}/probed", (HostPort(gluster.host, gluster.port),))
    assert await probe("data", right, tmp_path) == SIZE
    assert await reason(replace(right, name=f"{gluster.volume}/other"), tmp_path) == "NotFound"


async def test_nbd(serve: Serve, disk: Path, tmp_path: Path) -> None:
    kit, tls = Nbdkit(disk.parent), Nbdkit(disk.parent, Certificates())
    serve(kit)
    serve(tls)
    right = Network("nbd", "one", (HostPort(HOST, kit.port),))
    assert await probe("data", right, tmp_path) == SIZE
    assert await reason(replace(right, name="other"), tmp_path) == "NotFound"
    assert await reason(replace(right, hosts=(HostPort(HOST, tls.port),)), tmp_path) == "AccessDenied"
